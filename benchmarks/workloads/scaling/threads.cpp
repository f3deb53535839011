// A store with 100 to 1,000,000 threads: the cost of a superstep of another thread (a new one, with a run of five
// supersteps), and the cost of reading the state of one of the existing threads.
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
// The number of samples whose median counts, because the disk is sometimes busy with databases of other cases.
constexpr int samples = 100;
// The number of runs before them that are not measured, because the figure is for a program that has been running.
constexpr int warm_up = 20;

std::string nameOf(std::size_t thread) { return "thread-" + std::to_string(thread); }

/// A saver with `size` threads of one superstep, of which only the newest checkpoint is kept.
struct FilledStore {
    FilledStore(Store store, std::size_t size) : fresh(store) {
        fill(size);
        if (store == Store::rocksdb) {
            // Moves what is in memory into tables, as in a store that is older than its process.
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

/// The first case of a size creates it, and it is destroyed with the cases.
using Shared = std::shared_ptr<std::unique_ptr<FilledStore>>;
const FreshSaver& made(const Shared& shared, Store store, std::size_t size) {
    if (!*shared) *shared = std::make_unique<FilledStore>(store, size);
    return (*shared)->fresh;
}

/// The new threads are deleted when all have been measured. Deleting one is an fsync on RocksDB, which would affect the
/// next thread's supersteps. No id is used twice, because deleted rows there still have to be skipped.
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
