#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

#include "tests/support/caches.hpp"

using namespace std::chrono_literals;

// Caches that outlive the process, and their limit.
TEST_CASE("a cache that lasts is there when it is opened again, with the times of its entries") {
    caches::onEachLasting([](caches::Home& home) {
        const auto clock = ManualClock::make();
        std::uint64_t bytes = 0;
        {
            const auto cache = home.open({.clock = clock});
            cache->set("n", "k", "value", {});
            cache->set("n", "short", "s", 10ms);
            bytes = home.storedBytes(*cache);
            CHECK(bytes > 0);
        }
        clock->passMs(10);
        const auto cache = home.open({.clock = clock});
        CHECK(home.storedBytes(*cache) == bytes);
        CHECK(cache->get("n", "k") == "value");
        CHECK_FALSE(cache->get("n", "short"));
        CHECK(home.storedBytes(*cache) < bytes);
        cache->remove("n", "k");
        CHECK(home.storedBytes(*cache) == 0);
    });
}

TEST_CASE("of a cache that lasts the entries written longest ago make room, and the limit holds after opening too") {
    caches::onEachLasting([](caches::Home& home) {
        const std::string value(1000, 'x');
        for (int round = 0; round < 2; ++round) {
            const auto cache = home.open({.bytes_max = 10'000});
            for (int i = 0; i < 50; ++i) {
                cache->set("n", std::to_string(i), value, {});
                REQUIRE(home.storedBytes(*cache) <= 10'000);
                REQUIRE(cache->get("n", std::to_string(i)) == value);
            }
            CHECK_FALSE(cache->get("n", "0"));
            CHECK(cache->get("n", "48"));
            cache->set("n", "49", std::string(9'500, 'x'), {});
            CHECK_FALSE(cache->get("n", "49"));
        }
        const auto cache = home.open();
        CHECK(cache->get("n", "48"));
        cache->set("other", "k", "v", {});
        cache->clear("n");
        CHECK_FALSE(cache->get("n", "48"));
        CHECK(home.storedBytes(*cache) > 0);
        cache->clear("other");
        CHECK(home.storedBytes(*cache) == 0);
        cache->set("other", "k", "v", {});
        cache->clear();
        CHECK(home.storedBytes(*cache) == 0);
    });
}

TEST_CASE("writing an entry again neither counts it twice nor makes it the oldest") {
    caches::onEachLasting([](caches::Home& home) {
        const auto cache = home.open({.bytes_max = 5'000});
        const std::string value(1000, 'x');
        cache->set("n", "1", value, {});
        const auto once = home.storedBytes(*cache);
        cache->set("n", "2", value, {});
        for (int i = 0; i < 10; ++i) cache->set("n", "1", value, {});
        CHECK(home.storedBytes(*cache) == 2 * once);
        cache->set("n", "3", value, {});
        cache->set("n", "4", value, {});
        cache->set("n", "5", value, {});
        CHECK_FALSE(cache->get("n", "2"));
        CHECK(cache->get("n", "5"));
    });
}

TEST_CASE("a cache that lasts refuses to have no room") {
    caches::onEachLasting(
        [](caches::Home& home) { CHECK_THROWS_AS(home.open({.bytes_max = 0}), stategraph::InvalidArgumentError); });
}
