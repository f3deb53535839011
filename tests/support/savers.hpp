#pragma once
#include <memory>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#if STATEGRAPH_HAS_ROCKSDB
#include <stategraph/rocksdb_saver.hpp>
#endif
#if STATEGRAPH_HAS_SQLITE
#include <stategraph/sqlite_saver.hpp>
#endif

#include "tests/support/later_saver.hpp"
#include "tests/support/temporary_folder.hpp"

// Runs a case with every kind of saver.
namespace savers {

/// A place where threads outlive the saver object. Destroying the result of `open` before opening again has the same
/// effect as a new process.
class Store {
public:
    Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    virtual ~Store() = default;
    virtual std::shared_ptr<stategraph::BaseCheckpointSaver> open() = 0;
};

class MemoryStore final : public Store {
public:
    std::shared_ptr<stategraph::BaseCheckpointSaver> open() override { return saver_; }

private:
    std::shared_ptr<stategraph::BaseCheckpointSaver> saver_ = std::make_shared<stategraph::MemorySaver>();
};

/// On a saver whose asynchronous calls another thread answers.
class LaterStore final : public Store {
public:
    std::shared_ptr<stategraph::BaseCheckpointSaver> open() override { return std::make_shared<LaterSaver>(inner_); }

private:
    std::shared_ptr<stategraph::BaseCheckpointSaver> inner_ = std::make_shared<stategraph::MemorySaver>();
};

#if STATEGRAPH_HAS_ROCKSDB
class RocksDBStore final : public Store {
public:
    std::shared_ptr<stategraph::BaseCheckpointSaver> open() override {
        return std::make_shared<stategraph::RocksDBSaver>((folder_ / "db").string());
    }

private:
    TemporaryFolder folder_;
};
#endif

#if STATEGRAPH_HAS_SQLITE
class SqliteStore final : public Store {
public:
    std::shared_ptr<stategraph::BaseCheckpointSaver> open() override {
        return std::make_shared<stategraph::SqliteSaver>((folder_ / "threads.db").string());
    }

private:
    TemporaryFolder folder_;
};
#endif

/// Calls `body(Store&)` with a new store of each kind.
template <class F>
void onEach(F body) {
    {
        INFO("on the memory saver");
        MemoryStore store;
        body(static_cast<Store&>(store));
    }
#if STATEGRAPH_HAS_ROCKSDB
    {
        INFO("on RocksDB");
        RocksDBStore store;
        body(static_cast<Store&>(store));
    }
#endif
#if STATEGRAPH_HAS_SQLITE
    {
        INFO("on SQLite");
        SqliteStore store;
        body(static_cast<Store&>(store));
    }
#endif
}

/// The same, and with a saver that answers later. A run that is awaited with it does nothing before its first answer.
template <class F>
void onEachAndLater(F body) {
    onEach(body);
    INFO("on a saver that answers later");
    LaterStore store;
    body(static_cast<Store&>(store));
}

}  // namespace savers
