// The first benchmarks: what a superstep costs without a saver, in memory and on RocksDB. See benchmarks/README.md for the figures.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <stategraph/stategraph.hpp>
#if STATEGRAPH_HAS_ROCKSDB
#include <stategraph/rocksdb_saver.hpp>
#endif

namespace sg = stategraph;

namespace {

struct Counter {
    int n = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("n", &Counter::n)); }
};

/// One node that counts, and goes round until `limit`.
sg::StateGraph<Counter> loopGraph(int limit) {
    sg::StateGraph<Counter> graph;
    graph.addNode("a", [](const Counter& s) -> sg::Update<Counter> { return {sg::set(&Counter::n, s.n + 1)}; })
        .addEdge(sg::START, "a")
        .addConditionalEdges("a", [limit](const Counter& s) { return s.n < limit ? "a" : sg::END; });
    return graph;
}

constexpr int loop_steps = 1000;

void runLoop(benchmark::State& state, const sg::CompiledGraph<Counter>& app, sg::Durability durability) {
    std::size_t thread = 0;
    for (auto _ : state) {
        const auto result = app.invoke({sg::set(&Counter::n, 0)}, {.thread_id = "t" + std::to_string(thread++), .durability = durability,
                                                                   .recursion_limit = loop_steps + 1});
        if (result.values.n != loop_steps) state.SkipWithError("wrong result");
    }
    state.SetItemsProcessed(state.iterations() * loop_steps);
    state.counters["s/superstep"] = benchmark::Counter(static_cast<double>(state.iterations()) * loop_steps,
                                                       benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void superstepWithoutSaver(benchmark::State& state) { runLoop(state, loopGraph(loop_steps).compile(), sg::Durability::async); }
BENCHMARK(superstepWithoutSaver);

/// The floor of the above: the same loop by hand, through two function pointers.
void superstepByHand(benchmark::State& state) {
    Counter (*volatile node)(const Counter&) = [](const Counter& s) { return Counter{s.n + 1}; };
    bool (*volatile more)(const Counter&) = [](const Counter& s) { return s.n < loop_steps; };
    for (auto _ : state) {
        Counter counter;
        do {
            counter = node(counter);
        } while (more(counter));
        benchmark::DoNotOptimize(counter);
    }
    state.SetItemsProcessed(state.iterations() * loop_steps);
}
BENCHMARK(superstepByHand);

void chainOfThree(benchmark::State& state) {
    sg::StateGraph<Counter> graph;
    const auto count = [](const Counter& s) -> sg::Update<Counter> { return {sg::set(&Counter::n, s.n + 1)}; };
    graph.addSequence("a", count, "b", count, "c", count)
        .addEdge(sg::START, "a")
        .addEdge("c", sg::END);
    const auto app = graph.compile();
    for (auto _ : state) {
        const auto result = app.invoke({sg::set(&Counter::n, 0)});
        if (result.values.n != 3) state.SkipWithError("wrong result");
    }
}
BENCHMARK(chainOfThree);

struct Team {
    std::vector<int> done = {};
    int count = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("done", &Team::done, sg::append), sg::channel("count", &Team::count));
    }
};

void fiveWorkersAndAJoin(benchmark::State& state) {
    sg::StateGraph<Team> graph;
    std::vector<std::string> workers;
    for (int i = 0; i < 5; ++i) {
        workers.push_back("w" + std::to_string(i));
        graph.addNode(workers.back(), [i](const Team&) -> sg::Update<Team> { return {sg::add(&Team::done, i)}; });
        graph.addEdge(sg::START, workers.back());
    }
    graph.addNode("join", [](const Team& s) -> sg::Update<Team> { return {sg::set(&Team::count, static_cast<int>(s.done.size()))}; })
        .addEdge(workers, "join")
        .addEdge("join", sg::END);
    const auto app = graph.compile();
    sg::RunConfig config;
    if (state.range(0) > 0) config.max_concurrency = static_cast<int>(state.range(0));
    for (auto _ : state) {
        const auto result = app.invoke({}, config);
        if (result.values.count != 5) state.SkipWithError("wrong result");
    }
}
BENCHMARK(fiveWorkersAndAJoin)->ArgName("max_concurrency")->Arg(1)->Arg(0);

void superstepInMemory(benchmark::State& state) {
    // A fresh saver now and then, so that memory does not grow without end.
    for (auto _ : state) {
        state.PauseTiming();
        const auto app = loopGraph(loop_steps).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        state.ResumeTiming();
        const auto result = app.invoke({sg::set(&Counter::n, 0)}, {.thread_id = "t", .recursion_limit = loop_steps + 1});
        if (result.values.n != loop_steps) state.SkipWithError("wrong result");
    }
    state.SetItemsProcessed(state.iterations() * loop_steps);
}
BENCHMARK(superstepInMemory);

struct Growing {
    std::vector<std::string> messages = {};
    int n = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("messages", &Growing::messages, sg::append), sg::channel("n", &Growing::n));
    }
};

/// A step of a thread that has `range(0)` messages of 200 bytes and gets one more: the median of the gaps between the calls of the
/// node around that step, in one run.
void growingThread(benchmark::State& state, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    using Clock = std::chrono::steady_clock;
    const int at = static_cast<int>(state.range(0));
    constexpr int window = 50;
    const int limit = at + window;
    std::vector<Clock::time_point> calls;
    sg::StateGraph<Growing> graph;
    graph.addNode("say", [&calls](const Growing& s) -> sg::Update<Growing> {
             calls.push_back(Clock::now());
             return {sg::add(&Growing::messages, std::string(200, static_cast<char>('a' + s.n % 26))), sg::set(&Growing::n, s.n + 1)};
         })
        .addEdge(sg::START, "say")
        .addConditionalEdges("say", [limit](const Growing& s) { return s.n < limit ? "say" : sg::END; });
    const auto app = graph.compile({.checkpointer = saver});
    std::size_t thread = 0;
    for (auto _ : state) {
        calls.clear();
        const std::string id = "g" + std::to_string(at) + "-" + std::to_string(thread++);
        app.invoke({}, {.thread_id = id, .recursion_limit = limit + 1});
        std::vector<double> gaps;
        for (int i = at - window; i < at + window - 1; ++i) {
            const auto step = static_cast<std::size_t>(i);
            gaps.push_back(std::chrono::duration<double>(calls[step + 1] - calls[step]).count());
        }
        std::sort(gaps.begin(), gaps.end());
        state.SetIterationTime(gaps[gaps.size() / 2]);
        saver->deleteThread(id);
    }
}
void growingThreadInMemory(benchmark::State& state) { growingThread(state, std::make_shared<sg::MemorySaver>()); }
BENCHMARK(growingThreadInMemory)->Arg(100)->Arg(1000)->Arg(10000)->UseManualTime()->Iterations(5);

#if STATEGRAPH_HAS_ROCKSDB
std::string freshFolder() {
    const auto folder = std::filesystem::temp_directory_path() / "stategraph-bench";
    std::filesystem::remove_all(folder);
    return folder.string();
}

void superstepOnRocksDB(benchmark::State& state) {
    const auto durability = state.range(0) == 0 ? sg::Durability::async : sg::Durability::sync;
    const auto app = loopGraph(loop_steps).compile({.checkpointer = std::make_shared<sg::RocksDBSaver>(freshFolder())});
    runLoop(state, app, durability);
}
BENCHMARK(superstepOnRocksDB)->ArgName("sync")->Arg(0)->Arg(1)->MinTime(1);

void growingThreadOnRocksDB(benchmark::State& state) { growingThread(state, std::make_shared<sg::RocksDBSaver>(freshFolder())); }
BENCHMARK(growingThreadOnRocksDB)->Arg(100)->Arg(1000)->Arg(10000)->UseManualTime()->Iterations(5);
#endif

}  // namespace
