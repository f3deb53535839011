#include "tests/workflow_conformance/storage.hpp"

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>
#if STATEGRAPH_HAS_ROCKSDB
#include <stategraph/rocksdb_saver.hpp>
#endif
#if STATEGRAPH_HAS_SQLITE
#include <stategraph/sqlite_saver.hpp>
#endif
#if STATEGRAPH_HAS_POSTGRES
#include <stategraph/postgres_saver.hpp>
#endif

namespace workflow_conformance {

Storage::Storage(const std::string& kind) : kind_(kind) { open(); }

void Storage::open() {
    const std::string place = kind_.substr(kind_.find(':') + 1);
    if (kind_ == "memory") {
        saver_ = std::make_shared<sg::MemorySaver>();
    } else if (place.empty()) {
        throw std::invalid_argument("--saver " + kind_ + " names no place");
#if STATEGRAPH_HAS_ROCKSDB
    } else if (kind_.starts_with("rocksdb:")) {
        std::filesystem::create_directories(place);
        saver_ = std::make_shared<sg::RocksDBSaver>(place);
#endif
#if STATEGRAPH_HAS_SQLITE
    } else if (kind_.starts_with("sqlite:")) {
        saver_ = std::make_shared<sg::SqliteSaver>(place);
#endif
#if STATEGRAPH_HAS_POSTGRES
    } else if (kind_.starts_with("postgres:")) {
        saver_ = std::make_shared<sg::PostgresSaver>(
            place, sg::PostgresSaverOptions{.schema = "workflow_conformance",
                                            .set_up = true,
                                            .connection_wait = std::chrono::minutes(10),
                                            .connect_timeout = std::chrono::minutes(10),
                                            .statement_timeout = std::chrono::minutes(10),
                                            .reconnect_for = std::chrono::minutes(10)});
#endif
    } else {
        throw std::invalid_argument(
            "--saver must be memory, rocksdb:FOLDER, sqlite:FILE or postgres:CONNINFO, of which this program was built "
            "with some, and is '" +
            kind_ + "'");
    }
}

void Storage::reopen() {
    if (kind_ == "memory") return;
    const std::weak_ptr<sg::BaseCheckpointSaver> closed = saver_;
    saver_ = nullptr;
    // A task that ended late may hold it for a moment.
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (!closed.expired()) {
        if (std::chrono::steady_clock::now() > end) {
            saver_ = closed.lock();
            if (saver_) throw std::runtime_error("the database is still in use");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // sleeps: between two looks
    }
    for (;;) {
        try {
            return open();
        } catch (const sg::SaverError&) {  // it is being destroyed
            if (std::chrono::steady_clock::now() > end) throw;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // sleeps: between two tries
    }
}

}  // namespace workflow_conformance
