// A store that holds 100 to 1,000,000 threads: what a superstep of a further thread costs (a new one, a run of five
// supersteps), and what reading the state of any one of those that are there does.
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/support/counter.hpp"
#include "benchmarks/support/figures.hpp"
#include "benchmarks/support/savers.hpp"
#include "benchmarks/workloads/scaling/scaling.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

constexpr int steps = 5;
// The median of so many: the disk is busy with other cases' databases now and then.
constexpr int samples = 100;
// Before them, without the clock: what is measured is a program that has been running.
constexpr int warm_up = 20;

std::string nameOf(std::size_t thread) { return "thread-" + std::to_string(thread); }

/// A saver with `size` threads of one superstep, their newest checkpoint alone.
struct FilledStore {
    FilledStore(Store store, std::size_t size) : fresh(store) {
        fill(size);
        if (store == Store::rocksdb) {
            // What lies in memory goes into tables, as in a store that is older than its process.
            fresh.saver.reset();
            fresh.saver = std::make_shared<sg::RocksDBSaver>(fresh.folder->path());
        }
    }
    void fill(std::size_t size) {
        const auto app = loopGraph(1).compile({.checkpointer = fresh.saver});
        for (std::size_t i = 0; i < size; ++i)
            app.invoke({sg::set(&Counter::n, 0)}, {.thread_id = nameOf(i), .durability = sg::Durability::exit});
    }

    FreshSaver fresh;
};

/// Made when the first case of its size runs; gone with the cases.
using Shared = std::shared_ptr<std::unique_ptr<FilledStore>>;
const FreshSaver& made(const Shared& shared, Store store, std::size_t size) {
    if (!*shared) *shared = std::make_unique<FilledStore>(store, size);
    return (*shared)->fresh;
}

/// The new threads go when all have been measured: deleting one is an fsync on RocksDB, which the next thread's
/// supersteps would feel. No id comes twice: what was deleted is still to be read past there.
void newThreads(benchmark::State& state, const FreshSaver& fresh) {
    static std::size_t count = 0;
    const auto app = loopGraph(steps).compile({.checkpointer = fresh.saver});
    for (auto _ : state) {
        std::vector<double> seconds;
        std::vector<std::string> ids;
        for (int i = 0; i < warm_up + samples; ++i) ids.push_back("further-" + std::to_string(count++));
        for (int i = 0; i < warm_up + samples; ++i) {
            const auto begin = Clock::now();
            const auto result = app.invoke({sg::set(&Counter::n, 0)}, {.thread_id = ids[static_cast<std::size_t>(i)]});
            if (i >= warm_up) seconds.push_back(secondsSince(begin));
            if (result.values.n != steps) state.SkipWithError("wrong result");
        }
        for (const auto& id : ids) fresh.saver->deleteThread(id);
        state.SetIterationTime(median(std::move(seconds)));
        state.counters["items"] = steps;
    }
}

void readThreads(benchmark::State& state, const FreshSaver& fresh, std::size_t size) {
    static std::mt19937_64 random(7);
    const auto app = loopGraph(1).compile({.checkpointer = fresh.saver});
    for (auto _ : state) {
        std::vector<double> seconds;
        for (int i = 0; i < warm_up + samples; ++i) {
            const std::string id = nameOf(random() % size);
            const auto begin = Clock::now();
            const auto snapshot = app.getState({.thread_id = id});
            if (i >= warm_up) seconds.push_back(secondsSince(begin));
            if (snapshot.values.n != 1) state.SkipWithError("wrong result");
        }
        state.SetIterationTime(median(std::move(seconds)));
    }
}

}  // namespace

void registerThreads() {
    for (const Store store : {Store::memory, Store::rocksdb}) {
        const std::string on = toString(store);
        for (const std::size_t size : sizesUpTo(10'000, {100, 1000, 10'000, 100'000, 1'000'000})) {
            const auto shared = std::make_shared<std::unique_ptr<FilledStore>>();
            once(add("scaling/threads_new_" + on, size,
                     [=](benchmark::State& state) { newThreads(state, made(shared, store, size)); }));
            once(add("scaling/threads_read_" + on, size,
                     [=](benchmark::State& state) { readThreads(state, made(shared, store, size), size); }));
        }
    }
}

}  // namespace bench
