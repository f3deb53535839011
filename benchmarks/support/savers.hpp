#pragma once
#include <memory>

#include <stategraph/memory_saver.hpp>
#include <stategraph/rocksdb_saver.hpp>

#include "benchmarks/support/temp_folder.hpp"

namespace bench {

enum class Store { none, memory, rocksdb };
inline const char* toString(Store store) {
    return store == Store::none ? "no_saver" : store == Store::memory ? "memory" : "rocksdb";
}

/// An empty saver with what it needs; the folder goes after the saver.
struct FreshSaver {
    explicit FreshSaver(Store kind) : store(kind) {
        if (store == Store::memory) saver = std::make_shared<stategraph::MemorySaver>();
        if (store == Store::rocksdb) {
            folder = std::make_unique<TempFolder>();
            saver = std::make_shared<stategraph::RocksDBSaver>(folder->path());
        }
    }
    /// What everything stored takes: memory, or the files of the database.
    double storedBytes() const {
        return static_cast<double>(store == Store::rocksdb ? folder->databaseBytes() : *saver->storedBytes());
    }

    Store store;
    std::unique_ptr<TempFolder> folder;
    std::shared_ptr<stategraph::BaseCheckpointSaver> saver;
};

}  // namespace bench
