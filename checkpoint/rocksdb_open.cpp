#include "checkpoint/rocksdb_open.hpp"

#include <filesystem>
#include <string_view>
#include <system_error>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <unistd.h>

#include <stategraph/error.hpp>

#include "checkpoint/rocksdb_keys.hpp"

namespace stategraph::checkpoint {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw SaverError("cannot open the database '" + path + "': " + why);
}

rocksdb::Options defaultOptions() {
    rocksdb::Options options;
    options.write_buffer_size = 32U << 20U;
    options.max_open_files = 512;
    options.max_background_jobs = 2;
    options.level_compaction_dynamic_level_bytes = true;  // less space for data that is written once
    options.keep_log_file_num = 2;
    options.max_log_file_size = 4U << 20U;
    options.info_log_level = rocksdb::WARN_LEVEL;
    options.stats_dump_period_sec = 0;
    options.stats_persist_period_sec = 0;
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(32U << 20U);
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return options;
}

// RocksDB would make a new database in any folder without a CURRENT file, and would then delete the tables that it
// finds there.
void checkFolderWithoutDatabase(const std::string& path) {
    std::string foreign;
    for (const auto& entry : fs::directory_iterator(path)) {
        const std::string name = entry.path().filename().string();
        const std::string extension = entry.path().extension().string();
        if (extension == ".sst" || (extension == ".log" && entry.file_size() > 0)) {
            throw CorruptCheckpointError("the database '" + path + "' is damaged: it has data (" + name +
                                         ") but no CURRENT file; restore it from a copy");
        }
        const bool is_ours = name == "LOCK" || name.starts_with("LOG") || name == "IDENTITY" || extension == ".log" ||
                             extension == ".dbtmp" || name.starts_with("MANIFEST-") || name.starts_with("OPTIONS-") ||
                             name == "lost+found";
        if (!is_ours) foreign = name;
    }
    if (!foreign.empty()) {
        refuse(path, "the folder has files of something else ('" + foreign + "'); give it an empty or a new folder");
    }
}

void checkFolder(const std::string& path, bool create, bool read_only) {
    if (path.empty()) refuse(path, "the path is empty; name a folder");
    const fs::file_status status = fs::status(path);
    if (!fs::exists(status)) {
        if (read_only) refuse(path, "there is none; opening it read_only does not make one");
        if (!create) refuse(path, "there is none; check the path or set create_if_missing");
        std::error_code error;
        fs::create_directories(path, error);
        if (error) refuse(path, "the folder cannot be made: " + error.message());
        return;
    }
    if (!fs::is_directory(status)) refuse(path, "it is a file; a database is a folder");
    if (!read_only && ::access(path.c_str(), W_OK) != 0) {
        refuse(path, "this process may not write there; change the permissions or open it read_only");
    }
    if (fs::exists(fs::path(path) / "CURRENT")) return;
    checkFolderWithoutDatabase(path);
    if (read_only || !create) refuse(path, "the folder has no database; check the path or set create_if_missing");
}

[[noreturn]] void failOpening(const rocksdb::Status& status, const std::string& path) {
    const std::string text = status.ToString();
    if (text.find("lock hold by current process") != std::string::npos) {
        refuse(path, "this process has it open already; share that object instead of making a second one");
    }
    if (status.IsIOError() && text.find("While lock file") != std::string::npos) {
        refuse(path, "another process has it open (" + text + "); end it, or open both read_only");
    }
    // A MANIFEST that CURRENT names and that is gone is damage, too, but RocksDB calls it an IO error.
    if (status.IsPathNotFound() || status.IsNotFound() || text.find("No such file") != std::string::npos) {
        throw CorruptCheckpointError("the database '" + path + "' is damaged: a file is missing (" + text +
                                     "); restore it from a copy");
    }
    failStatus(status, "open it", path);
}

void checkFormat(rocksdb::DB& db, const std::string& path, bool read_only, const DatabaseFormat& format) {
    const rocksdb::Slice key(format.key.data(), format.key.size());
    std::string version;
    const rocksdb::Status status = db.Get(rocksdb::ReadOptions(), key, &version);
    if (status.ok()) {
        if (version == std::to_string(format.version)) return;
        const bool is_number = !version.empty() && version.find_first_not_of("0123456789") == std::string::npos;
        if (is_number && version != "0") {
            throw CorruptCheckpointError("the database '" + path + "' has format " + version +
                                         ", newer than this library's " + std::to_string(format.version) +
                                         "; use a newer stategraph");
        }
        throw CorruptCheckpointError("the database '" + path + "' is damaged: its format version cannot be read");
    }
    if (!status.IsNotFound()) failStatus(status, "read its format version", path);

    const std::unique_ptr<rocksdb::Iterator> rows(db.NewIterator(rocksdb::ReadOptions()));
    rows->SeekToFirst();
    if (rows->Valid()) refuse(path, "it is a database of something else; give it an empty or a new folder");
    if (!rows->status().ok()) failStatus(rows->status(), "read it", path);
    if (read_only) return;
    rocksdb::WriteOptions write;
    write.sync = true;
    const rocksdb::Status put = db.Put(write, key, std::to_string(format.version));
    if (!put.ok()) failStatus(put, "write its format version", path);
}

}  // namespace

void failStatus(const rocksdb::Status& status, const std::string& work, const std::string& path) {
    if (status.IsCorruption()) {
        throw CorruptCheckpointError("the database '" + path + "' is damaged: could not " + work + ": " +
                                     status.ToString() + "; restore it from a copy");
    }
    throw SaverError("the database '" + path + "': could not " + work + ": " + status.ToString());
}

std::unique_ptr<rocksdb::DB> openDatabase(const std::string& path, const RocksDBSaverOptions& options, const DatabaseFormat& format) {
    try {
        checkFolder(path, options.create_if_missing, options.read_only);
    } catch (const fs::filesystem_error& error) {
        refuse(path, error.code().message());
    }
    rocksdb::Options settings = options.rocksdb_options ? *options.rocksdb_options : defaultOptions();
    settings.create_if_missing = options.create_if_missing;
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status = options.read_only ? rocksdb::DB::OpenForReadOnly(settings, path, &opened)
                                                     : rocksdb::DB::Open(settings, path, &opened);
    std::unique_ptr<rocksdb::DB> db(opened);
    if (!status.ok()) failOpening(status, path);
    checkFormat(*db, path, options.read_only, format);
    return db;
}

}  // namespace stategraph::checkpoint
