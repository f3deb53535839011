#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include <stategraph/error.hpp>
#include <stategraph/rocksdb_saver.hpp>
#if STATEGRAPH_HAS_SQLITE
#include <stategraph/sqlite_saver.hpp>
#endif

namespace fault {

/// A thread's folder that has this file has a SQLite file, others have a RocksDB folder.
inline constexpr const char* sqlite_mark = "on_sqlite";

inline bool isOnSqlite(const std::filesystem::path& folder) { return std::filesystem::exists(folder / sqlite_mark); }

/// Whether a process got as far as to make a database there.
inline bool hasDatabase(const std::filesystem::path& folder) {
    if (!isOnSqlite(folder)) return std::filesystem::exists(folder / "db" / "CURRENT");
    try {
#if STATEGRAPH_HAS_SQLITE
        if (!std::filesystem::exists(folder / "threads.db")) return false;
        const stategraph::SqliteSaver saver((folder / "threads.db").string(), {.read_only = true});
#endif
        return true;
    } catch (const stategraph::SaverError& error) {
        for (const char* unmade : {"it is empty", "died while it made the file"}) {
            if (error.message().find(unmade) != std::string::npos) return false;  // a file without its tables
        }
        throw;
    }
}

/// The saver of a thread's folder.
inline std::shared_ptr<stategraph::BaseCheckpointSaver> openSaver(const std::filesystem::path& folder,
                                                                  bool read_only = false) {
#if STATEGRAPH_HAS_SQLITE
    if (isOnSqlite(folder))
        return std::make_shared<stategraph::SqliteSaver>((folder / "threads.db").string(),
                                                         stategraph::SqliteSaverOptions{.read_only = read_only});
#endif
    return std::make_shared<stategraph::RocksDBSaver>((folder / "db").string(),
                                                      stategraph::RocksDBSaverOptions{.read_only = read_only});
}

}  // namespace fault
