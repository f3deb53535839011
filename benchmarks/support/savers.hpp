#pragma once
#include <memory>

#include <stategraph/memory_saver.hpp>
#include <stategraph/rocksdb_saver.hpp>
#if STATEGRAPH_HAS_SQLITE
#include <stategraph/sqlite_saver.hpp>
#endif
#if STATEGRAPH_HAS_POSTGRES
#include <stategraph/postgres_saver.hpp>
#endif

#include "benchmarks/support/bare_postgres.hpp"
#include "benchmarks/support/temp_folder.hpp"

namespace bench {

enum class Store { none, memory, rocksdb, sqlite, postgres };
inline const char* toString(Store store) {
    return store == Store::none       ? "no_saver"
           : store == Store::memory   ? "memory"
           : store == Store::sqlite   ? "sqlite"
           : store == Store::postgres ? "postgres"
                                      : "rocksdb";
}

/// An empty saver with everything that it needs. The folder is removed after the saver. On PostgreSQL, each of
/// them makes the same schema anew, so that its rows do not take the space of earlier ones.
struct FreshSaver {
    explicit FreshSaver(Store kind) : store(kind) {
        if (store == Store::memory) saver = std::make_shared<stategraph::MemorySaver>();
#if STATEGRAPH_HAS_SQLITE
        if (store == Store::sqlite) {
            folder = std::make_unique<TempFolder>();
            saver = std::make_shared<stategraph::SqliteSaver>(folder->path() + "/threads.db");
        }
#endif
#if STATEGRAPH_HAS_POSTGRES
        if (store == Store::postgres) {
            (void)askPostgres("SET client_min_messages=error; DROP SCHEMA IF EXISTS stategraph_bench CASCADE");
            saver = std::make_shared<stategraph::PostgresSaver>(
                postgresConninfo(),
                stategraph::PostgresSaverOptions{.schema = "stategraph_bench", .set_up = true, .connections_max = 16});
        }
#endif
        if (store == Store::rocksdb) {
            folder = std::make_unique<TempFolder>();
            saver = std::make_shared<stategraph::RocksDBSaver>(folder->path());
        }
    }
    /// Returns the size of everything stored: in memory, or in the files of the database.
    double storedBytes() const {
        return static_cast<double>(store == Store::rocksdb ? folder->databaseBytes() : *saver->storedBytes());
    }

    Store store;
    std::unique_ptr<TempFolder> folder;
    std::shared_ptr<stategraph::BaseCheckpointSaver> saver;
};

}  // namespace bench
