#pragma once
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>

#include "tests/support/later_saver.hpp"

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

/// A kind of saver that outlives the process.
struct Kind {
    std::string name;  // "RocksDB"
    std::unique_ptr<Store> (*make)();
};
/// Those that this program was linked with (tests/support/kinds), which each add themselves before main begins.
inline std::vector<Kind>& lastingKinds() {
    static std::vector<Kind> kinds;
    return kinds;
}

/// Calls `body(Store&)` with a new store of each kind.
template <class F>
void onEach(F body) {
    {
        INFO("on the memory saver");
        MemoryStore store;
        body(static_cast<Store&>(store));
    }
    for (const Kind& kind : lastingKinds()) {
        INFO("on " << kind.name);
        const std::unique_ptr<Store> store = kind.make();
        body(*store);
    }
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
