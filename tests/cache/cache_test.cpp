#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/memory_store.hpp>

#include "tests/support/caches.hpp"
#include "tests/support/seed.hpp"

using namespace std::chrono_literals;

// The behaviour of every cache, and the memory cache's limit.
namespace sg = stategraph;

TEST_CASE("a cache returns what was set, by namespace and key, bytes of any kind") {
    caches::onEach([](const std::shared_ptr<sg::BaseCache>& cache, ManualClock&) {
        const std::string zeros("a\0b\xFF", 4);
        CHECK_FALSE(cache->get("n", "k"));
        cache->set("n", "k", zeros, {});
        cache->set("n", "", "empty key", {});
        cache->set("nk", "", "another namespace", {});
        cache->set("", "nk", "no namespace", {});
        CHECK(cache->get("n", "k") == zeros);
        CHECK(cache->get("n", "") == "empty key");
        CHECK(cache->get("nk", "") == "another namespace");
        CHECK(cache->get("", "nk") == "no namespace");
        CHECK_FALSE(cache->get("", "k"));
        cache->set("n", "k", "", {});
        CHECK(cache->get("n", "k") == "");
    });
}

TEST_CASE("removing and clearing take what they name and nothing else") {
    caches::onEach([](const std::shared_ptr<sg::BaseCache>& cache, ManualClock&) {
        for (const char* ns : {"a", "ab", "b"}) {
            for (const char* key : {"1", "2"}) cache->set(ns, key, std::string(ns) + key, {});
        }
        cache->remove("a", "1");
        cache->remove("a", "none");
        CHECK_FALSE(cache->get("a", "1"));
        CHECK(cache->get("a", "2") == "a2");
        cache->clear("a");
        cache->clear("none");
        CHECK_FALSE(cache->get("a", "2"));
        CHECK(cache->get("ab", "1") == "ab1");
        CHECK(cache->get("b", "2") == "b2");
        cache->clear();
        CHECK_FALSE(cache->get("ab", "1"));
        CHECK_FALSE(cache->get("b", "2"));
        cache->set("b", "2", "again", {});
        CHECK(cache->get("b", "2") == "again");
    });
}

TEST_CASE("an entry is good until its time is over, and gone then") {
    caches::onEach([](const std::shared_ptr<sg::BaseCache>& cache, ManualClock& clock) {
        cache->set("n", "short", "s", 10ms);
        cache->set("n", "long", "l", std::chrono::milliseconds::max());
        cache->set("n", "ever", "e", {});
        clock.passMs(9);
        CHECK(cache->get("n", "short") == "s");
        clock.passMs(1);
        CHECK_FALSE(cache->get("n", "short"));
        cache->set("n", "short", "again", 10ms);
        clock.passMs(1'000'000'000);
        CHECK_FALSE(cache->get("n", "short"));
        CHECK(cache->get("n", "long") == "l");
        CHECK(cache->get("n", "ever") == "e");
        cache->set("n", "short", "without end", {});
        clock.passMs(1'000'000'000);
        CHECK(cache->get("n", "short") == "without end");
    });
}

TEST_CASE("an expired entry takes no room once it was asked for") {
    const auto clock = ManualClock::make();
    sg::MemoryCache cache({.clock = clock});
    cache.set("n", "k", std::string(1000, 'x'), 5ms);
    CHECK(cache.storedBytes() > 1000);
    clock->passMs(5);
    CHECK_FALSE(cache.get("n", "k"));
    CHECK(cache.storedBytes() == 0);
    CHECK(cache.entries() == 0);
}

TEST_CASE("a cache counts what it found, what it did not, and what it kept") {
    const auto count = [](sg::BaseCache& cache, ManualClock& clock, const auto& statsOf) {
        const auto is = [&](std::uint64_t hits, std::uint64_t misses, std::uint64_t stores) {
            const sg::CacheStats stats = statsOf();
            return stats.hits == hits && stats.misses == misses && stats.stores == stores;
        };
        CHECK(is(0, 0, 0));
        (void)cache.get("n", "k");
        CHECK(is(0, 1, 0));
        cache.set("n", "k", "value", 5ms);
        cache.set("n", "k", "value", 5ms);
        cache.set("n", "large", std::string(10'000, 'x'), {});
        CHECK(is(0, 1, 2));
        (void)cache.get("n", "k");
        (void)cache.get("other", "k");
        CHECK(is(1, 2, 2));
        clock.passMs(5);
        (void)cache.get("n", "k");
        cache.remove("n", "k");
        cache.clear("n");
        cache.clear();
        CHECK(is(1, 3, 2));
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i < 4; ++i) {
                threads.emplace_back([&] {
                    for (int j = 0; j < 100; ++j) (void)cache.get("n", "none");
                });
            }
        }
        CHECK(is(1, 403, 2));
    };
    const auto clock = ManualClock::make();
    sg::MemoryCache in_memory({.bytes_max = 8'000, .clock = clock});
    count(in_memory, *clock, [&] { return in_memory.stats(); });
    sg::StoreCache on_store(std::make_shared<sg::MemoryStore>(sg::StoreOptions{.clock = clock}),
                            {.bytes_max = 1U << 18U});
    count(on_store, *clock, [&] { return on_store.stats(); });
}

TEST_CASE("in memory the entries used least recently make room, and the limit holds") {
    sg::MemoryCache cache({.bytes_max = 4000});
    const std::string value(900, 'x');
    for (const char* key : {"1", "2", "3"}) cache.set("n", key, value, {});
    REQUIRE(cache.entries() == 3);
    CHECK(cache.get("n", "1"));  // 2 is the oldest now
    cache.set("n", "4", value, {});
    CHECK(cache.storedBytes() <= 4000);
    CHECK_FALSE(cache.get("n", "2"));
    CHECK(cache.get("n", "1"));
    CHECK(cache.get("n", "3"));
    CHECK(cache.get("n", "4"));
    cache.set("n", "4", std::string(5000, 'x'), {});
    CHECK_FALSE(cache.get("n", "4"));  // too large, and the old value is not the right one any more
    CHECK(cache.entries() == 2);
}

TEST_CASE("the memory cache's count of bytes is that of its entries, whatever happens to them") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto clock = ManualClock::make();
    sg::MemoryCache cache({.bytes_max = 20'000, .clock = clock});
    for (int i = 0; i < 5000; ++i) {
        const std::string ns(1, static_cast<char>('a' + random() % 3));
        const std::string key = std::to_string(random() % 60);
        switch (random() % 10) {
            case 0:
                cache.remove(ns, key);
                break;
            case 1:
                clock->passMs(1);
                break;
            case 2:
                if (random() % 40 == 0) cache.clear(ns);
                break;
            case 3:
            case 4:
                (void)cache.get(ns, key);
                break;
            default:
                cache.set(ns, key, std::string(random() % 1500, 'v'),
                          random() % 2 ? std::optional(20ms) : std::nullopt);
        }
        REQUIRE(cache.storedBytes() <= 20'000);
    }
    for (const char* ns : {"a", "b", "c"}) cache.clear(ns);
    CHECK(cache.storedBytes() == 0);
    CHECK(cache.entries() == 0);
}

TEST_CASE("a cache can be used from several threads at once") {
    caches::onEach([](const std::shared_ptr<sg::BaseCache>& cache, ManualClock&) {
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&cache, t] {
                for (int i = 0; i < 50; ++i) {
                    const std::string key = std::to_string(i % 7);
                    cache->set("n", key, key, i % 2 ? std::optional(1000ms) : std::nullopt);
                    if (const auto found = cache->get("n", key); found && *found != key) std::abort();
                    if (i % 10 == t) cache->clear("n");
                    if (i % 13 == t) cache->remove("n", key);
                }
            });
        }
        for (auto& thread : threads) thread.join();
        cache->clear();
        for (int i = 0; i < 7; ++i) CHECK_FALSE(cache->get("n", std::to_string(i)));
    });
}

TEST_CASE("a cache without room is refused") {
    CHECK_THROWS_AS(sg::MemoryCache({.bytes_max = 0}), sg::InvalidArgumentError);
}
