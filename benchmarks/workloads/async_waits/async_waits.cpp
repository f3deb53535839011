// Ten thousand runs that exist at the same time, on two threads. Each of them waits 50 ms in each of three nodes.
// Ideally only the waiting takes time, which is 150 ms for all of them. The floor uses only tasks: three sleeps without
// a graph.
//
// The same number of runs with a saver that takes a millisecond a call, also on two threads: each run has a chain of
// calls, which takes some milliseconds ideally. Threads that wait for their calls would take half a millisecond a call.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <stategraph/async.hpp>
#include <stategraph/stategraph.hpp>

#include "benchmarks/support/figures.hpp"
#include "benchmarks/support/process.hpp"
#include "benchmarks/support/workload.hpp"
#include "tests/support/later_saver.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

constexpr std::chrono::milliseconds pause(50);
constexpr double ideal_seconds = 3 * 0.050;
// Of a run with a saver: what it begins with, its input, START and three nodes.
constexpr double calls_per_run = 6;
constexpr double call_seconds = 0.001;

struct Count {
    int n = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("n", &Count::n, sg::sum)); }
};

std::atomic<std::size_t> begun{0};  // runs that have begun since it was set to 0

sg::Task<sg::Update<Count>> waits(const Count& state) {
    if (state.n == 0) ++begun;
    co_await sg::sleepFor(pause);
    co_return {sg::add(&Count::n, 1)};
}

sg::CompiledGraph<Count> waitingGraph(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::StateGraph<Count> graph;
    graph.addNode("a", waits).addNode("b", waits).addNode("c", waits);
    graph.addEdge(sg::START, "a").addEdge("a", "b").addEdge("b", "c").addEdge("c", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

sg::CompiledGraph<Count> storingGraph(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    const auto counts = [](const Count& state) -> sg::Task<sg::Update<Count>> {
        if (state.n == 0) ++begun;
        co_return {sg::add(&Count::n, 1)};
    };
    sg::StateGraph<Count> graph;
    graph.addNode("a", counts).addNode("b", counts).addNode("c", counts);
    graph.addEdge(sg::START, "a").addEdge("a", "b").addEdge("b", "c").addEdge("c", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

sg::Task<sg::Result<Count>> threeSleeps() {
    sg::Result<Count> result;
    ++begun;
    for (int i = 0; i < 3; ++i) {
        co_await sg::sleepFor(pause);
        ++result.values.n;
    }
    co_return result;
}

// Counts the ends of runs.
class Ends {
public:
    explicit Ends(std::size_t count) : left_(count) {}
    void operator()(sg::Outcome<sg::Result<Count>> outcome) {
        if (outcome.error() || outcome.get().values.n != 3) failed_ = true;
        if (left_.fetch_sub(1) != 1) return;
        const std::lock_guard lock(mutex_);
        all_.notify_all();
    }
    bool wait() {
        std::unique_lock lock(mutex_);
        all_.wait(lock, [this] { return left_ == 0; });
        return !failed_;
    }

private:
    std::atomic<std::size_t> left_;
    std::atomic<bool> failed_ = false;
    std::mutex mutex_;
    std::condition_variable all_;
};

// `begin(i)` creates the task of a run.
template <class F>
void atOnce(benchmark::State& state, std::size_t size, F begin, double ideal = ideal_seconds) {
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 2});
    for (auto _ : state) {
        Ends ends(size);
        begun = 0;
        const auto before = static_cast<double>(heapBytes());
        const auto start = Clock::now();
        for (std::size_t i = 0; i < size; ++i)
            sg::spawn(executor, begin(i),
                      [&ends](sg::Outcome<sg::Result<Count>> outcome) { ends(std::move(outcome)); });
        const double spawned = secondsSince(start);
        while (begun < size) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const auto in_flight = static_cast<double>(heapBytes());
        if (!ends.wait()) state.SkipWithError("a run failed");
        const double seconds = secondsSince(start);
        state.SetIterationTime(seconds);
        state.counters["times_ideal"] = seconds / ideal;
        state.counters["bytes_per_run"] = (in_flight - before) / static_cast<double>(size);
        state.counters["spawning_ms"] = spawned * 1e3;
    }
}

}  // namespace

void registerCases() {
    const std::size_t size = quick() ? 1000 : 10'000;
    once(add("async_waits/runs", size,
             [=](benchmark::State& state) {
                 const auto app = waitingGraph(nullptr);
                 atOnce(state, size, [&](std::size_t) { return app.asyncInvoke({}); });
             }),
         benchmark::kMillisecond);
    once(add("async_waits/runs_memory", size,
             [=](benchmark::State& state) {
                 const auto app = waitingGraph(std::make_shared<sg::MemorySaver>());
                 atOnce(state, size,
                        [&](std::size_t i) { return app.asyncInvoke({}, {.thread_id = std::to_string(i)}); });
             }),
         benchmark::kMillisecond);
    const auto overSaver = [=](sg::Durability durability) {
        return [=](benchmark::State& state) {
            const auto saver =
                std::make_shared<LaterSaver>(std::make_shared<sg::MemorySaver>(), std::chrono::milliseconds(1));
            const auto app = storingGraph(saver);
            std::atomic<std::size_t> round{0};
            atOnce(
                state, size,
                [&](std::size_t i) {
                    return app.asyncInvoke(
                        {}, {.thread_id = std::to_string(round++) + "/" + std::to_string(i), .durability = durability});
                },
                calls_per_run * call_seconds);
            const double calls = calls_per_run * static_cast<double>(size);
            state.counters["blocking_seconds"] = calls * call_seconds / 2;  // by two threads that wait
            if (saver->waitedFor() > 0) state.SkipWithError("a thread waited for the saver");
        };
    };
    once(add("async_waits/runs_saver_1ms", size, overSaver(sg::Durability::async)), benchmark::kMillisecond);
    once(add("async_waits/runs_saver_1ms_sync", size, overSaver(sg::Durability::sync)), benchmark::kMillisecond);
    once(addFloor("async_waits/runs", size,
                  [=](benchmark::State& state) { atOnce(state, size, [](std::size_t) { return threeSleeps(); }); }),
         benchmark::kMillisecond);
}

}  // namespace bench
