#include <stategraph/store.hpp>

#include <atomic>
#include <thread>

#include "tests/storage/store/stores.hpp"

namespace stategraph {
namespace {

using namespace under_test;
using namespace std::chrono_literals;

int numberOf(const StoreItem& item) { return item.value.as<std::map<std::string, int>>().at("n"); }

TEST_CASE("a read sees a batch of another thread as a whole or not at all") {
    StoreOptions options;
    options.default_ttl = 1'000'000ms;  // with a time to live, reads write too
    onEach(options, [](Home& home) {
        BaseStore& store = home.store();
        const auto put = [&](int n) {
            std::vector<StoreOp> ops;
            for (int i = 0; i < 5; ++i)
                ops.push_back(PutOp{{"pair", std::to_string(i)}, "k", Value(std::map<std::string, int>{{"n", n}}), {}});
            store.batch(ops);
        };
        put(-1);
        const auto created = store.search({.limit = 1}).at(0).created_at;
        std::atomic<int> torn{0};
        std::atomic<int> reads{0};
        std::atomic<bool> done{false};
        std::vector<std::thread> threads;
        for (int t = 0; t < 2; ++t) {
            threads.emplace_back([&, t] {
                for (int n = 0; n < 100; ++n) put(1000 * t + n);
            });
        }
        std::vector<std::thread> readers;
        for (int t = 0; t < 2; ++t) {
            readers.emplace_back([&] {
                do {
                    const auto found = store.search({.namespace_prefix = {"pair"}});
                    bool same = found.size() == 5;
                    for (const auto& item : found)
                        same = same && numberOf(item) == numberOf(found[0]) && item.created_at == created;
                    if (!same) ++torn;
                    ++reads;
                } while (!done);
            });
        }
        for (auto& thread : threads) thread.join();
        done = true;
        for (auto& thread : readers) thread.join();
        CHECK(torn == 0);
        CHECK(reads > 0);
    });
}

TEST_CASE("puts, removals, expiries and sweeps of many threads leave nothing") {
    onEach([](Home& home) {
        BaseStore& store = home.store();
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i < 60; ++i) {
                    store.put({"n", std::to_string(i % 3)}, std::to_string(i % 5), Doc{{"t", t}},
                              {.ttl = i % 2 == 0 ? 1ms : 1000ms});
                    if (i % 7 == 0) home.clock->pass(1);
                    if (i % 11 == 0) store.sweep();
                    if (i % 5 == 0) store.remove({"n", std::to_string(i % 3)}, "0");
                    (void)store.get({"n", "1"}, "1");
                }
            });
        }
        for (auto& thread : threads) thread.join();
        home.clock->pass(100'000);
        CHECK(store.search({}).empty());
        store.sweep();
        if (auto* memory = dynamic_cast<MemoryStore*>(&store)) CHECK(memory->storedBytes() == 0);
        CHECK(store.listNamespaces().empty());
    });
}

}  // namespace
}  // namespace stategraph
