#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/cache.hpp>
#include <stategraph/store_cache.hpp>

#include "tests/storage/store/stores.hpp"
#include "tests/support/manual_clock.hpp"

// Runs a case with every kind of cache.
namespace caches {

/// Calls `body(cache, clock)` with a new cache in memory, and with one on each kind of store; all have room for
/// everything.
template <class F>
void onEach(F body) {
    {
        INFO("in memory");
        const auto clock = ManualClock::make();
        body(std::shared_ptr<stategraph::BaseCache>(
                 std::make_shared<stategraph::MemoryCache>(stategraph::MemoryCacheOptions{.clock = clock})),
             *clock);
    }
    const auto clock = ManualClock::make();
    under_test::onEach({.clock = clock}, [&](under_test::Home& home) {
        body(std::shared_ptr<stategraph::BaseCache>(std::make_shared<stategraph::StoreCache>(home.share())), *clock);
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
