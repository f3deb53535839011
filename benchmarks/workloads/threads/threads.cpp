// Ten thousand threads of five supersteps use one graph and one memory saver. One or two threads of the system take
// them from a counter.
#include <atomic>
#include <ctime>
#include <thread>

#include "benchmarks/support/counter.hpp"
#include "benchmarks/support/figures.hpp"
#include "benchmarks/support/savers.hpp"
#include "benchmarks/support/workload.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

constexpr int steps = 5;

void manyThreads(benchmark::State& state, std::size_t cores, std::size_t threads) {
    for (auto _ : state) {
        const FreshSaver fresh(Store::memory);
        const auto app = loopGraph(steps).compile({.checkpointer = fresh.saver});
        std::atomic<std::size_t> next{0};
        std::atomic<std::size_t> right{0};
        const auto work = [&] {
            for (std::size_t i = next.fetch_add(1); i < threads; i = next.fetch_add(1)) {
                const auto result = app.invoke({sg::set(&Counter::n, 0)}, {.thread_id = "thread-" + std::to_string(i)});
                if (result.values.n == steps) right.fetch_add(1);
            }
        };
        const auto begin = Clock::now();
        const std::clock_t cpu_begin = std::clock();
        std::vector<std::thread> helpers;
        for (std::size_t i = 1; i < cores; ++i) helpers.emplace_back(work);
        work();
        for (auto& helper : helpers) helper.join();
        const double seconds = secondsSince(begin);
        const double cpu_seconds = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
        if (right != threads) state.SkipWithError("wrong result");
        state.SetIterationTime(seconds);
        state.counters["items"] = static_cast<double>(threads);
        state.counters["threads_per_second"] = static_cast<double>(threads) / seconds;
        // The same figure on a machine without other load.
        state.counters["threads_per_cpu_second"] = static_cast<double>(threads) / cpu_seconds;
    }
}

/// Measures how much more two threads of this machine do than one if they share nothing, which is the largest possible
/// ratio.
void byHand(benchmark::State& state, std::size_t cores, std::size_t threads) {
    for (auto _ : state) {
        std::atomic<std::size_t> next{0};
        const auto work = [&] {
            for (std::size_t i = next.fetch_add(1); i < threads; i = next.fetch_add(1)) {
                std::vector<std::string> log;
                for (int step = 0; step <= steps; ++step) log.emplace_back(60, static_cast<char>(step));
                benchmark::DoNotOptimize(log.data());
            }
        };
        const auto begin = Clock::now();
        std::vector<std::thread> helpers;
        for (std::size_t i = 1; i < cores; ++i) helpers.emplace_back(work);
        work();
        for (auto& helper : helpers) helper.join();
        const double seconds = secondsSince(begin);
        state.SetIterationTime(seconds);
        state.counters["items"] = static_cast<double>(threads);
        state.counters["threads_per_second"] = static_cast<double>(threads) / seconds;
    }
}

}  // namespace

void registerCases() {
    const std::size_t threads = quick() ? 1000 : 10'000;
    for (const std::size_t cores : {1, 2}) {
        once(add("threads/cores", cores, [=](benchmark::State& state) { manyThreads(state, cores, threads); }));
        once(addFloor("threads/cores", cores, [=](benchmark::State& state) { byHand(state, cores, threads); }));
    }
}

}  // namespace bench
