#include "tests/workflow_conformance/storage.hpp"

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include <stategraph/memory_saver.hpp>
#if STATEGRAPH_HAS_ROCKSDB
#include <stategraph/rocksdb_saver.hpp>
#endif

namespace workflow_conformance {

Storage::Storage(const std::string& kind) {
    constexpr std::string_view rocksdb = "rocksdb:";
    if (kind == "memory") {
        saver_ = std::make_shared<sg::MemorySaver>();
        return;
    }
    if (!kind.starts_with(rocksdb) || kind.size() == rocksdb.size()) {
        throw std::invalid_argument("--saver must be memory or rocksdb:FOLDER, and is '" + kind + "'");
    }
    folder_ = kind.substr(rocksdb.size());
    std::filesystem::create_directories(folder_);
    open();
}

void Storage::open() {
#if STATEGRAPH_HAS_ROCKSDB
    saver_ = std::make_shared<sg::RocksDBSaver>(folder_);
#else
    throw std::invalid_argument("--saver rocksdb:" + folder_ + ": this program was built without RocksDB");
#endif
}

void Storage::reopen() {
    if (folder_.empty()) return;
    const std::weak_ptr<sg::BaseCheckpointSaver> closed = saver_;
    saver_ = nullptr;
    // A task that ended late may hold it for a moment.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!closed.expired()) {
        if (std::chrono::steady_clock::now() > end) {
            saver_ = closed.lock();
            if (saver_) throw std::runtime_error("the database is still in use");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    open();
}

}  // namespace workflow_conformance
