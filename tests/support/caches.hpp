#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/cache.hpp>

#include "tests/support/manual_clock.hpp"
#include "tests/support/temporary_folder.hpp"

// Runs a case with every kind of cache.
namespace caches {

/// A place where entries outlive the cache object. Destroying the result of `open` before opening again has the same
/// effect as a new process.
class Home {
public:
    struct Options {
        std::uint64_t bytes_max = std::uint64_t{1} << 30U;
        std::shared_ptr<stategraph::IdSource> clock = {};
    };
    Home() = default;
    Home(const Home&) = delete;
    Home& operator=(const Home&) = delete;
    virtual ~Home() = default;
    virtual std::shared_ptr<stategraph::BaseCache> open(const Options& options) = 0;
    std::shared_ptr<stategraph::BaseCache> open() { return open(Options()); }
    virtual std::uint64_t storedBytes(const stategraph::BaseCache& cache) = 0;
    virtual stategraph::CacheStats stats(const stategraph::BaseCache& cache) = 0;
};

template <class Cache>
class HomeOf : public Home {
public:
    std::uint64_t storedBytes(const stategraph::BaseCache& cache) override {
        return dynamic_cast<const Cache&>(cache).storedBytes();
    }
    stategraph::CacheStats stats(const stategraph::BaseCache& cache) override {
        return dynamic_cast<const Cache&>(cache).stats();
    }
};

/// A cache in a folder or a file.
template <class Cache, class CacheOptions>
class FileHome final : public HomeOf<Cache> {
public:
    std::shared_ptr<stategraph::BaseCache> open(const Home::Options& options) override {
        return std::make_shared<Cache>((folder_ / "cache").string(),
                                       CacheOptions{.bytes_max = options.bytes_max, .clock = options.clock});
    }

private:
    TemporaryFolder folder_;
};

/// A kind of cache that outlives the process.
struct Kind {
    std::string name;  // "RocksDB"
    /// Null where its server is not there.
    std::unique_ptr<Home> (*make)();
};
/// Those that this program was linked with (tests/support/kinds), which each add themselves before main begins.
inline std::vector<Kind>& lastingKinds() {
    static std::vector<Kind> kinds;
    return kinds;
}

/// Calls `body(Home&)` with each kind of cache that outlives the process.
template <class F>
void onEachLasting(F body) {
    for (const Kind& kind : lastingKinds()) {
        INFO("on " << kind.name);
        if (const std::unique_ptr<Home> home = kind.make()) body(*home);
    }
}

/// Calls `body(cache, clock)` with a new cache of each kind that has room for everything.
template <class F>
void onEach(F body) {
    {
        INFO("in memory");
        const auto clock = ManualClock::make();
        body(std::shared_ptr<stategraph::BaseCache>(
                 std::make_shared<stategraph::MemoryCache>(stategraph::MemoryCacheOptions{.clock = clock})),
             *clock);
    }
    onEachLasting([&](Home& home) {
        const auto clock = ManualClock::make();
        body(home.open({.clock = clock}), *clock);
    });
}

/// A memory cache that notes keys and can be made to fail or to give back other bytes.
class MeddlingCache final : public stategraph::BaseCache {
public:
    struct Entry {
        std::string ns;
        std::string key;
        std::string value;
    };
    bool fails = false;
    void (*damage)(std::string& value) = nullptr;

    std::optional<std::string> get(std::string_view ns, std::string_view key) override {
        const std::lock_guard lock(mutex_);
        if (fails) throw std::runtime_error("the cache is down");
        for (const Entry& entry : entries_) {
            if (entry.ns != ns || entry.key != key) continue;
            std::string value = entry.value;
            if (damage != nullptr) damage(value);
            return value;
        }
        return {};
    }
    void set(std::string_view ns, std::string_view key, std::string_view value,
             std::optional<std::chrono::milliseconds>) override {
        const std::lock_guard lock(mutex_);
        if (fails) throw std::runtime_error("the cache is down");
        erase(ns, key);
        entries_.push_back({std::string(ns), std::string(key), std::string(value)});
    }
    void remove(std::string_view ns, std::string_view key) override {
        const std::lock_guard lock(mutex_);
        ++removed_;
        erase(ns, key);
    }
    void clear(std::string_view ns) override {
        const std::lock_guard lock(mutex_);
        std::erase_if(entries_, [&](const Entry& entry) { return entry.ns == ns; });
    }
    void clear() override {
        const std::lock_guard lock(mutex_);
        entries_.clear();
    }
    std::vector<Entry> entries() const {
        const std::lock_guard lock(mutex_);
        return entries_;
    }
    int removed() const {
        const std::lock_guard lock(mutex_);
        return removed_;
    }

private:
    void erase(std::string_view ns, std::string_view key) {
        std::erase_if(entries_, [&](const Entry& entry) { return entry.ns == ns && entry.key == key; });
    }

    mutable std::mutex mutex_;
    std::vector<Entry> entries_;
    int removed_ = 0;
};

}  // namespace caches
