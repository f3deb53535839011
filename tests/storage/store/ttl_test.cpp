#include <stategraph/store.hpp>

#include <chrono>

#include "tests/storage/store/stores.hpp"

namespace stategraph {
namespace {

using namespace under_test;
using namespace std::chrono_literals;
using Names = std::vector<std::string>;

StoreOptions withTtl(std::int64_t ms, bool refresh) {
    StoreOptions options;
    options.default_ttl = std::chrono::milliseconds(ms);
    options.refresh_on_read = refresh;
    return options;
}
StoreOptions withoutRefresh() {
    StoreOptions options;
    options.refresh_on_read = false;
    return options;
}

TEST_CASE("an item whose time is over is not found by any read") {
    onEach(withoutRefresh(), [](Home& home) {
        BaseStore& store = home.store();
        store.put({"a"}, "short", Doc{}, {.ttl = 10ms});
        store.put({"a", "b"}, "short", Doc{}, {.ttl = 10ms});
        store.put({"a"}, "long", Doc{}, {.ttl = 20ms});
        store.put({"c"}, "ever", Doc{});
        home.clock->now_us += 9'999;
        CHECK(store.get({"a"}, "short").has_value());
        CHECK(store.search({}).size() == 4);
        home.clock->now_us += 1;
        home.reopen();
        BaseStore& again = home.store();
        CHECK(!again.get({"a"}, "short"));
        CHECK(namesOf(again.search({})) == Names{"a/long", "c/ever"});
        CHECK(namesOf(again.listNamespaces()) == Names{"a", "c"});
        home.clock->pass(10);
        CHECK(namesOf(again.listNamespaces()) == Names{"c"});
        CHECK(again.sweep() == 3);
        CHECK(again.sweep() == 0);
        CHECK(namesOf(again.search({})) == Names{"c/ever"});
    });
}

TEST_CASE("the store's time to live holds unless the put says otherwise") {
    onEach(withTtl(10, false), [](Home& home) {
        BaseStore& store = home.store();
        store.put({"a"}, "default", Doc{});
        store.put({"a"}, "own", Doc{}, {.ttl = 30ms});
        store.put({"a"}, "ever", Doc{}, {.ttl = 0ms});
        home.clock->pass(10);
        CHECK(namesOf(store.search({})) == Names{"a/ever", "a/own"});
        home.clock->pass(20);
        CHECK(namesOf(store.search({})) == Names{"a/ever"});
    });
}

TEST_CASE("reading gives an item its whole time anew, if the store or the read says so") {
    onEach(withTtl(10, true), [](Home& home) {
        BaseStore& store = home.store();
        const auto begin = home.clock->now();
        for (const char* const key : {"got", "found", "left", "peeked"}) store.put({"a"}, key, Doc{{"key", key}});
        home.clock->pass(6);
        CHECK(store.get({"a"}, "got")->updated_at == begin);
        CHECK(store.get({"a"}, "peeked", false).has_value());
        CHECK(namesOf(store.search({.filter = where("key").eq("found")})) == Names{"a/found"});
        home.clock->pass(6);
        CHECK(namesOf(store.search({.refresh_ttl = false})) == Names{"a/found", "a/got"});
        CHECK(store.get({"a"}, "got", false)->updated_at == begin);
        home.clock->pass(3);
        CHECK(store.sweep() == 2);
        CHECK(store.search({.refresh_ttl = false}).size() == 2);
        home.clock->pass(1);
        CHECK(store.search({}).empty());
        CHECK(store.sweep() == 2);
    });
}

TEST_CASE("a refresh can be asked for where the store does none, and touches nothing without a time to live") {
    onEach(withoutRefresh(), [](Home& home) {
        BaseStore& store = home.store();
        store.put({"a"}, "k", Doc{}, {.ttl = 10ms});
        store.put({"a"}, "ever", Doc{});
        home.clock->pass(5);
        CHECK(store.get({"a"}, "k", true).has_value());
        CHECK(store.get({"a"}, "ever", true).has_value());
        home.clock->pass(9);
        CHECK(store.search({}).size() == 2);
        home.clock->pass(1);
        CHECK(namesOf(store.search({})) == Names{"a/ever"});
    });
}

TEST_CASE("a put gives an item a new time to live, and an item that was over is new") {
    onEach(withoutRefresh(), [](Home& home) {
        BaseStore& store = home.store();
        store.put({"a"}, "k", Doc{}, {.ttl = 10ms});
        store.put({"a"}, "k", Doc{});
        home.clock->pass(1000);
        CHECK(store.get({"a"}, "k").has_value());
        CHECK(store.sweep() == 0);
        store.put({"a"}, "k", Doc{}, {.ttl = 10ms});
        home.clock->pass(10);
        store.put({"a"}, "k", Doc{}, {.ttl = 10ms});
        const auto item = store.get({"a"}, "k");
        REQUIRE(item.has_value());
        CHECK(item->created_at == home.clock->now());
        CHECK(store.sweep() == 0);
    });
}

TEST_CASE("puts remove what is over, so a store without a sweep does not fill up") {
    StoreOptions options = withoutRefresh();
    const auto clock = std::make_shared<StoreClock>();
    options.clock = clock;
    MemoryStore store(options);
    for (int i = 0; i < 50; ++i) store.put({"a"}, std::to_string(i), Doc{}, {.ttl = 10ms});
    const std::size_t bytes_of_50 = store.storedBytes();
    for (int round = 0; round < 20; ++round) {
        clock->pass(10);
        for (int i = 0; i < 50; ++i) store.put({"b", std::to_string(round)}, std::to_string(i), Doc{}, {.ttl = 10ms});
    }
    CHECK(store.storedBytes() < bytes_of_50 * 2);
    clock->pass(10);
    CHECK(store.sweep() == 50);
    CHECK(store.storedBytes() == 0);
}

TEST_CASE("a sweep of many items removes them all, and none that was put anew") {
    onEach(withoutRefresh(), [](Home& home) {
        BaseStore& store = home.store();
        std::vector<StoreOp> puts;
        for (int i = 0; i < 1000; ++i)
            puts.push_back(PutOp{{"a", std::to_string(i % 7)}, std::to_string(i), Value(Doc{}), {.ttl = 10ms}});
        store.batch(puts);
        home.clock->pass(5);
        for (int i = 0; i < 10; ++i) store.put({"a", std::to_string(i % 7)}, std::to_string(i), Doc{}, {.ttl = 10ms});
        home.clock->pass(5);
        CHECK(store.sweep() == 990);
        CHECK(store.search({.limit = 1000}).size() == 10);
    });
}

}  // namespace
}  // namespace stategraph
