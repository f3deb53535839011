#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/store_cache.hpp>

#include "tests/storage/store/stores.hpp"

using namespace std::chrono_literals;

// A cache on a store: what outlives the object, and its limit. tests/cache has what every cache does.
namespace sg = stategraph;

namespace {

constexpr std::uint64_t bytes_max = 64U << 10U;
const std::string value(300, 'x');  // a part has room for one of them, and not for two

std::size_t countOf(sg::BaseStore& store) {
    return store.search({.namespace_prefix = {"cache"}, .limit = 10'000}).size();
}

}  // namespace

TEST_CASE("a cache on a store is there when the store is opened again, with the times of its entries") {
    under_test::onEach([](under_test::Home& home) {
        {
            sg::StoreCache cache(home.share());
            cache.set("n", "k", "value", {});
            cache.set("n", "short", "s", 10ms);
        }
        home.reopen();
        sg::StoreCache cache(home.share());
        CHECK(cache.get("n", "short") == "s");
        home.clock->pass(10);
        CHECK(cache.get("n", "k") == "value");
        CHECK_FALSE(cache.get("n", "short"));
        cache.remove("n", "k");
        CHECK_FALSE(cache.get("n", "k"));
        CHECK(countOf(home.store()) == 0);
    });
}

TEST_CASE("on a store the entries written longest ago make room, and the limit holds after opening too") {
    under_test::onEach([](under_test::Home& home) {
        for (int round = 0; round < 2; ++round) {
            {
                sg::StoreCache cache(home.share(), {.bytes_max = bytes_max});
                for (int i = 0; i < 300; ++i) {
                    home.clock->pass(1);
                    cache.set("n", std::to_string(i), value, {});
                    REQUIRE(cache.get("n", std::to_string(i)) == value);
                }
                CHECK(countOf(home.store()) <= 64);
                CHECK_FALSE(cache.get("n", "0"));
            }
            home.reopen();
        }
    });
}

TEST_CASE("an entry that is larger than a part is not kept, and the one that it replaces goes") {
    sg::StoreCache cache(std::make_shared<sg::MemoryStore>(), {.bytes_max = bytes_max});
    cache.set("n", "k", "old", {});
    cache.set("n", "k", std::string(2000, 'x'), {});
    CHECK_FALSE(cache.get("n", "k"));
    CHECK(cache.stats().stores == 1);
}

TEST_CASE("a cache on a store touches no item outside its namespace, also where it clears and makes room") {
    const auto store = std::make_shared<sg::MemoryStore>();
    store->put({"users", "alice"}, "k", under_test::Doc{{"v", "x"}});
    sg::StoreCache one(store, {.bytes_max = bytes_max});
    sg::StoreCache other(store, {.ns = {"other", "cache"}, .bytes_max = bytes_max});
    other.set("n", "k", "of the other", {});
    for (int i = 0; i < 300; ++i) one.set("n", std::to_string(i), value, {});
    one.clear();
    CHECK(countOf(*store) == 0);
    CHECK(other.get("n", "k") == "of the other");
    CHECK(store->get({"users", "alice"}, "k"));
}

TEST_CASE("the store's time to live and index are not those of a cache on it") {
    const auto clock = std::make_shared<under_test::StoreClock>();
    const auto embed = [](std::span<const std::string> texts) {
        FAIL_CHECK("an entry was embedded");
        return std::vector<std::vector<float>>(texts.size(), std::vector<float>(2));
    };
    const auto store = std::make_shared<sg::MemoryStore>(
        sg::StoreOptions{.default_ttl = 5ms, .index = sg::IndexConfig{.dims = 2, .embed = embed}, .clock = clock});
    sg::StoreCache cache(store);
    cache.set("n", "ever", "e", {});
    cache.set("n", "short", "s", 10ms);
    clock->pass(9);
    CHECK(cache.get("n", "short") == "s");
    clock->pass(1);
    CHECK_FALSE(cache.get("n", "short"));
    CHECK(cache.get("n", "ever") == "e");
}

TEST_CASE("an item that is no entry is an error of get, and a set replaces it") {
    const auto store = std::make_shared<sg::MemoryStore>();
    sg::StoreCache cache(store);
    cache.set("n", "k", "value", {});
    const auto items = store->search({.namespace_prefix = {"cache"}});
    REQUIRE(items.size() == 1);
    store->put(items[0].ns, items[0].key, under_test::Doc{{"v", "x"}});
    CHECK_THROWS_AS((void)cache.get("n", "k"), sg::WrongTypeError);
    cache.set("n", "k", "again", {});
    CHECK(cache.get("n", "k") == "again");
}

TEST_CASE("several caches on one store keep one limit, from several threads") {
    under_test::onEach([](under_test::Home& home) {
        sg::StoreCache one(home.share(), {.bytes_max = bytes_max});
        sg::StoreCache two(home.share(), {.bytes_max = bytes_max});
        {
            std::vector<std::jthread> threads;
            for (sg::StoreCache* const cache : {&one, &two}) {
                threads.emplace_back([cache] {
                    for (int i = 0; i < 100; ++i) cache->set("n", std::to_string(i), value, {});
                });
            }
        }
        // Each `set` makes room in its part, of what it sees.
        for (int i = 0; i < 100; ++i) one.set("n", std::to_string(i), value, {});
        CHECK(countOf(home.store()) <= 64);
    });
}

TEST_CASE("a cache without a store, without room or without a namespace is refused") {
    const auto store = std::make_shared<sg::MemoryStore>();
    CHECK_THROWS_AS(sg::StoreCache(nullptr), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::StoreCache(store, {.bytes_max = 65'535}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::StoreCache(store, {.ns = {}}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::StoreCache(store, {.ns = sg::StoreNamespace(31, "a")}), sg::InvalidArgumentError);
}
