// The memory that finished checkpoints use, and whether anything grows over a million runs.
#include <array>
#include <chrono>
#include <cstdio>

#include "benchmarks/support/figures.hpp"
#include "benchmarks/support/process.hpp"
#include "benchmarks/support/savers.hpp"
#include "benchmarks/support/workload.hpp"
#include "benchmarks/workloads/memory/short_run.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

constexpr std::size_t checkpoints_a_run = 4;  // that of the input, and those of three supersteps
constexpr double soak_limit_s = 60;

/// Measures the bytes of the heap for each checkpoint that the saver holds when all runs are over, with many short
/// threads or with one long thread.
void bytesPerCheckpoint(benchmark::State& state, std::size_t threads, std::size_t runs_a_thread) {
    for (auto _ : state) {
        const FreshSaver fresh(Store::memory);
        const auto app = shortGraph(fresh.saver);
        app.invoke({sg::set(&Ticket::n, 0)}, {.thread_id = "warm"});
        trimHeap();
        const std::size_t heap = heapBytes();
        const std::size_t resident = residentBytes();
        const auto begin = Clock::now();
        for (std::size_t thread = 0; thread < threads; ++thread) {
            const std::string id = "thread-" + std::to_string(thread);
            for (std::size_t run = 0; run < runs_a_thread; ++run)
                app.invoke({sg::set(&Ticket::n, 0)}, {.thread_id = id});
        }
        state.SetIterationTime(secondsSince(begin));
        const double count = static_cast<double>(threads * runs_a_thread * checkpoints_a_run);
        state.counters["checkpoints"] = count;
        state.counters["heap_bytes"] = static_cast<double>(heapBytes() - heap) / count;
        state.counters["resident_bytes"] =
            (static_cast<double>(residentBytes()) - static_cast<double>(resident)) / count;
        state.counters["stored_bytes"] = fresh.storedBytes() / count;
    }
}

/// Makes `runs` runs of one graph, each on a thread that is deleted afterwards: immediately, or a thousand at a time by
/// a prune. Prints memory and open files at every tenth. The counters say how much more there is at the end than at the
/// second tenth, when all buffers have been used. Fails after `soak_limit_s`.
void soak(benchmark::State& state, Store store, std::size_t runs, bool by_prune) {
    for (auto _ : state) {
        const FreshSaver fresh(store);
        const auto app = shortGraph(fresh.saver);
        std::array<double, 10> resident{};
        std::array<double, 10> heap{};
        std::array<double, 10> files{};
        const auto begin = Clock::now();
        for (std::size_t i = 1; i <= runs; ++i) {
            const std::string id = "thread-" + std::to_string(i);
            app.invoke({sg::set(&Ticket::n, 0)}, {.thread_id = id});
            if (!by_prune) {
                fresh.saver->deleteThread(id);
            } else if (i % 1000 == 0) {
                fresh.saver->prune({.threads_unused_since = std::chrono::system_clock::time_point::max()});
            }
            if (i % 1000 == 0 && secondsSince(begin) > soak_limit_s) {
                std::fprintf(stderr, "soak_%s: gave up after %zu of %zu runs, %.0f s\n", toString(store), i, runs,
                             secondsSince(begin));
                state.SkipWithError(("too slow: " + std::to_string(i) + " of " + std::to_string(runs) + " runs in " +
                                     std::to_string(static_cast<int>(soak_limit_s)) + " s")
                                        .c_str());
                return;
            }
            if (i % (runs / 10) != 0) continue;
            const std::size_t tenth = i / (runs / 10) - 1;
            resident[tenth] = static_cast<double>(residentBytes()) / (1 << 20);
            heap[tenth] = static_cast<double>(heapBytes()) / (1 << 20);
            files[tenth] = static_cast<double>(openFiles());
            std::fprintf(stderr,
                         "soak_%s%s: %3zu %% of %zu runs, %6.1f s: resident %.2f MiB, heap %.2f MiB, %.0f open files\n",
                         toString(store), by_prune ? "_prune" : "", (tenth + 1) * 10, runs, secondsSince(begin),
                         resident[tenth], heap[tenth], files[tenth]);
            state.counters["resident_mib_" + std::to_string((tenth + 1) * 10)] = resident[tenth];
        }
        state.SetIterationTime(secondsSince(begin));
        state.counters["resident_growth_mib"] = resident[9] - resident[1];
        state.counters["heap_growth_mib"] = heap[9] - heap[1];
        state.counters["files_growth"] = files[9] - files[1];
        state.counters["resident_end_mib"] = resident[9];
    }
}

}  // namespace

void registerCases() {
    const std::size_t threads = quick() ? 1000 : 25'000;
    once(add("memory/short_threads", threads, [=](benchmark::State& state) { bytesPerCheckpoint(state, threads, 1); }),
         benchmark::kMillisecond);
    once(add("memory/long_thread", threads, [=](benchmark::State& state) { bytesPerCheckpoint(state, 1, threads); }),
         benchmark::kMillisecond);
    for (const Store store : {Store::memory, Store::rocksdb}) {
        for (const bool by_prune : {false, true}) {
            const std::size_t runs = quick() ? 10'000 : store == Store::memory ? 1'000'000 : 200'000;
            const std::string name = std::string("memory/soak_") + toString(store) + (by_prune ? "_prune" : "");
            auto* added = add(name, runs, [=](benchmark::State& state) { soak(state, store, runs, by_prune); });
            once(added, benchmark::kMillisecond);
            added->Repetitions(1);
        }
    }
}

}  // namespace bench
