#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/id_source.hpp>
#include <stategraph/memory_store.hpp>

// The cases of the contract run on every kind of store.
namespace under_test {

/// A clock that stands still until the test moves it.
class StoreClock final : public stategraph::IdSource {
public:
    std::chrono::system_clock::time_point now() override {
        return std::chrono::system_clock::time_point(std::chrono::microseconds(now_us.load()));
    }
    std::chrono::system_clock::time_point at(std::int64_t us) const {
        return std::chrono::system_clock::time_point(std::chrono::microseconds(us));
    }
    std::uint64_t uniqueBits() override { return 7; }
    void pass(std::int64_t ms) { now_us += ms * 1000; }

    std::atomic<std::int64_t> now_us{1'700'000'000'000'000};
};

/// A store and the place of its items.
class Home {
public:
    explicit Home(const stategraph::StoreOptions& options) : options_(options) {
        if (!options_.clock) options_.clock = clock;
    }
    Home(const Home&) = delete;
    Home& operator=(const Home&) = delete;
    virtual ~Home() = default;

    stategraph::BaseStore& store() { return *store_; }
    std::shared_ptr<stategraph::BaseStore> share() { return store_; }
    /// Opens the store as a new process would, optionally with other options; the memory store keeps its items and
    /// options.
    virtual void reopen() {}
    virtual bool lasts() const { return false; }

    std::shared_ptr<StoreClock> clock = std::make_shared<StoreClock>();

protected:
    stategraph::StoreOptions options_;
    std::shared_ptr<stategraph::BaseStore> store_;
};

class MemoryHome final : public Home {
public:
    explicit MemoryHome(const stategraph::StoreOptions& options) : Home(options) {
        store_ = std::make_shared<stategraph::MemoryStore>(options_);
    }
};

/// A kind of store that outlives the process.
struct Kind {
    std::string name;  // "RocksDB"
    /// Null where its server is not there.
    std::unique_ptr<Home> (*make)(const stategraph::StoreOptions& options);
};
/// Those that this program was linked with (tests/support/kinds), which each add themselves before main begins.
inline std::vector<Kind>& lastingKinds() {
    static std::vector<Kind> kinds;
    return kinds;
}

/// Calls `body(Home&)` with a new, empty store of each kind.
template <class F>
void onEach(const stategraph::StoreOptions& options, F body) {
    {
        INFO("on the memory store");
        MemoryHome home(options);
        body(static_cast<Home&>(home));
    }
    for (const Kind& kind : lastingKinds()) {
        INFO("on " << kind.name);
        if (const std::unique_ptr<Home> home = kind.make(options)) body(*home);
    }
}
template <class F>
void onEach(F body) {
    onEach(stategraph::StoreOptions(), body);
}

using Doc = std::map<std::string, stategraph::Value>;

/// "ns1.ns2/key", for comparisons in one line.
inline std::string nameOf(const stategraph::StoreItem& item) {
    std::string out;
    for (const auto& label : item.ns) out += (out.empty() ? "" : ".") + label;
    return out + "/" + item.key;
}
inline std::vector<std::string> namesOf(const std::vector<stategraph::SearchItem>& items) {
    std::vector<std::string> out;
    for (const auto& item : items) out.push_back(nameOf(item));
    return out;
}
inline std::vector<std::string> namesOf(const std::vector<stategraph::StoreNamespace>& namespaces) {
    std::vector<std::string> out;
    for (const auto& ns : namespaces) {
        out.emplace_back();
        for (const auto& label : ns) out.back() += (out.back().empty() ? "" : ".") + label;
    }
    return out;
}

/// The message of the E that `f` throws; any other exception passes through.
template <class E, class F>
std::string messageOf(F f) {
    try {
        f();
    } catch (const E& error) {
        return error.message();
    }
    return "nothing was thrown";
}
inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace under_test
