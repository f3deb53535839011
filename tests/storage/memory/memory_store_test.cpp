// NOT WITH: sanitize=thread
#include <stategraph/memory_store.hpp>

#include "tests/storage/store/stores.hpp"

namespace stategraph {
namespace {

using namespace under_test;
using namespace std::chrono_literals;

TEST_CASE("a full memory store refuses a batch as a whole and stays as it was") {
    MemoryStore store({}, {.bytes_max = 4000});
    const Value value = Doc{{"text", std::string(500, 'x')}};
    for (int i = 0; i < 4; ++i) store.put({"a"}, std::to_string(i), value);
    const std::size_t before = store.storedBytes();
    CHECK(before <= 4000);
    const auto message = messageOf<StoreError>([&] {
        store.batch({PutOp{{"a"}, "small", Value(Doc{}), {}}, PutOp{{"a"}, "0", {}, {}}, PutOp{{"a"}, "4", value, {}},
                     PutOp{{"a"}, "5", value, {}}, PutOp{{"a"}, "6", value, {}}});
    });
    CHECK(has(message, "the memory store is full"));
    CHECK(has(message, std::to_string(before) + " of 4000"));
    CHECK(store.storedBytes() == before);
    CHECK(store.search({}).size() == 4);
    CHECK(store.get({"a"}, "0").has_value());
    store.put({"a"}, "0", value);  // an equal item takes no additional memory
    store.remove({"a"}, "1");
    store.put({"a"}, "5", value);
    CHECK(store.search({}).size() == 4);
}

TEST_CASE("a memory store counts what it holds, and nothing when all is gone") {
    MemoryStore store;
    CHECK(store.storedBytes() == 0);
    store.put({"a"}, "k", Doc{{"text", std::string(1000, 'x')}}, {.ttl = 1'000'000ms});
    const std::size_t one = store.storedBytes();
    CHECK(one > 1000);
    store.put({"a"}, "k", Doc{{"text", std::string(2000, 'x')}}, {.ttl = 1'000'000ms});
    CHECK(store.storedBytes() == one + 1000);
    store.remove({"a"}, "k");
    CHECK(store.storedBytes() == 0);
}

TEST_CASE("a sweep makes room in a full memory store") {
    const auto clock = std::make_shared<StoreClock>();
    StoreOptions options;
    options.clock = clock;
    MemoryStore store(options, {.bytes_max = 100'000});
    const Value value = Doc{{"text", std::string(1000, 'x')}};
    for (int i = 0; i < 60; ++i) store.put({"a"}, std::to_string(i), value, {.ttl = 10ms});
    clock->pass(10);
    const Value big = Doc{{"text", std::string(90'000, 'x')}};
    CHECK_THROWS_AS(store.put({"b"}, "big", big), StoreError);
    CHECK(store.sweep() == 60);
    store.put({"b"}, "big", big);
    CHECK(store.search({}).size() == 1);
}

}  // namespace
}  // namespace stategraph
