// Puts that expect a value of the item.
#include <stategraph/store.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/storage/store/stores.hpp"

namespace stategraph {
namespace {

using namespace under_test;

Value numberOfTurn(int n) { return Value(std::map<std::string, int>{{"n", n}}); }

TEST_CASE(
    "a put that expects a value is made only while the item has it, and otherwise the whole batch changes nothing") {
    onEach([](Home& home) {
        BaseStore& store = home.store();
        const Value one = numberOfTurn(1), two = numberOfTurn(2);
        const auto put = [&](const Value& expected, const Value& value) {
            store.batch({PutOp{{"a"}, "k", value, {.expected = expected}}, PutOp{{"a"}, "other", value, {}}});
        };
        CHECK_THROWS_AS(put(one, two), StoreChangedError);  // there is no such item
        CHECK(!store.get({"a"}, "other"));
        put(Value(), one);
        CHECK_THROWS_AS(put(Value(), two), StoreChangedError);
        CHECK_THROWS_AS(put(two, two), StoreChangedError);
        CHECK(store.get({"a"}, "k")->value == one);
        CHECK(store.get({"a"}, "other")->value == one);
        home.reopen();
        BaseStore& again = home.store();
        again.put({"a"}, "k", two, {.expected = one});
        CHECK_THROWS_AS(again.batch({PutOp{{"a"}, "k", {}, {.expected = one}}}), StoreChangedError);
        again.batch({PutOp{{"a"}, "k", {}, {.expected = two}}});
        CHECK(!again.get({"a"}, "k"));
    });
}

TEST_CASE("an item that has expired is none for a put that expects a value") {
    onEach([](Home& home) {
        const Value one = numberOfTurn(1);
        home.store().put({"a"}, "k", one, {.ttl = std::chrono::seconds(1)});
        home.clock->pass(2000);
        CHECK_THROWS_AS(home.store().put({"a"}, "k", one, {.expected = one}), StoreChangedError);
        home.store().put({"a"}, "k", one, {.expected = Value()});
        CHECK(home.store().get({"a"}, "k"));
    });
}

TEST_CASE("of several threads that replace the same value one succeeds") {
    onEach([](Home& home) {
        BaseStore& store = home.store();
        store.put({"turn"}, "k", numberOfTurn(0));
        std::atomic<int> successes{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&] {
                for (int n = 0; n < 20; ++n) {
                    try {
                        store.put({"turn"}, "k", numberOfTurn(n + 1), {.expected = numberOfTurn(n)});
                        ++successes;
                    } catch (const StoreChangedError&) {
                    }
                }
            });
        }
        for (auto& thread : threads) thread.join();
        // Every thread tries each turn once, so a turn may stay open; each that was taken was taken once.
        const auto last = store.get({"turn"}, "k")->value.as<std::map<std::string, int>>().at("n");
        CHECK(successes == last);
        CHECK(last > 0);
    });
}

}  // namespace
}  // namespace stategraph
