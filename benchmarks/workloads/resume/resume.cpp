// Resuming a stopped thread: at a breakpoint, at a question, and in a new process (open the database, load, resume).
#include <filesystem>
#include <memory>

#include "benchmarks/support/figures.hpp"
#include "benchmarks/support/savers.hpp"
#include "benchmarks/support/workload.hpp"
#include "benchmarks/workloads/growing_thread/conversation.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

struct Two {
    int n = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("n", &Two::n)); }
};

sg::StateGraph<Two> twoNodes(bool asks) {
    sg::StateGraph<Two> graph;
    graph.addNode("a", [](const Two& s) -> sg::Update<Two> { return {sg::set(&Two::n, s.n + 1)}; })
        .addNode("b",
                 [asks](const Two& s, sg::Runtime& runtime) -> sg::Update<Two> {
                     return {sg::set(&Two::n, s.n + (asks ? sg::interrupt<int>(runtime, "how many?") : 1))};
                 })
        .addEdge(sg::START, "a")
        .addEdge("a", "b")
        .addEdge("b", sg::END);
    return graph;
}

enum class How { breakpoint, update, answer };

/// Measures only what follows the stop: a thread is created and stopped before each iteration.
void goOn(benchmark::State& state, Store store, How how) {
    const FreshSaver fresh(store);
    const auto app =
        twoNodes(how == How::answer)
            .compile({.checkpointer = fresh.saver, .interrupt_before = how == How::answer ? sg::NodeNames() : "b"});
    std::size_t thread = 0;
    for (auto _ : state) {
        const std::string id = "t" + std::to_string(thread++);
        const sg::RunConfig config{.thread_id = id};
        app.invoke({sg::set(&Two::n, 0)}, config);
        const auto begin = Clock::now();
        if (how == How::update) app.updateState({.thread_id = id}, {sg::set(&Two::n, 1)}, {.as_node = "a"});
        const auto result =
            how == How::answer ? app.invoke(sg::Command<>{.resume = 1}, config) : app.invoke(sg::RESUME, config);
        state.SetIterationTime(secondsSince(begin));
        if (result.values.n != 2) state.SkipWithError("wrong result");
    }
}

/// Measures what a new process does to resume a thread of `size` messages that stopped at a breakpoint on disk.
void openLoadGoOn(benchmark::State& state, std::size_t size) {
    sg::StateGraph<Conversation> graph;
    graph
        .addNode("say",
                 [](const Conversation& s) -> sg::Update<Conversation> {
                     return {sg::add(&Conversation::messages, messageOf(static_cast<std::size_t>(s.n))),
                             sg::set(&Conversation::n, s.n + 1)};
                 })
        .addNode("pause",
                 [](const Conversation& s) -> sg::Update<Conversation> { return {sg::set(&Conversation::n, s.n)}; })
        .addEdge(sg::START, "say")
        .addConditionalEdges("say",
                             [size](const Conversation& s) { return s.n < static_cast<int>(size) ? "say" : "pause"; })
        .addEdge("pause", sg::END);
    const TempFolder made;
    {
        const auto app = graph.compile(
            {.checkpointer = std::make_shared<sg::RocksDBSaver>(made.path()), .interrupt_before = {"pause"}});
        app.invoke({}, {.thread_id = "t", .recursion_limit = static_cast<int>(size) + 1});
    }
    for (auto _ : state) {
        state.PauseTiming();
        const TempFolder copy;
        std::filesystem::copy(made.path(), copy.path(), std::filesystem::copy_options::recursive);
        state.ResumeTiming();
        {
            const auto app = graph.compile(
                {.checkpointer = std::make_shared<sg::RocksDBSaver>(copy.path()), .interrupt_before = {"pause"}});
            const auto result = app.invoke(sg::RESUME, {.thread_id = "t"});
            if (result.values.messages.size() != size) state.SkipWithError("wrong result");
        }
    }
}

/// Opens and closes such a database, and does nothing else.
void openAlone(benchmark::State& state) {
    const TempFolder folder;
    { const sg::RocksDBSaver made(folder.path()); }
    for (auto _ : state) {
        sg::RocksDBSaver opened(folder.path());
        benchmark::DoNotOptimize(&opened);
    }
}

}  // namespace

void registerCases() {
    for (const Store store : {Store::memory, Store::rocksdb}) {
        const std::string on = toString(store);
        add("resume/breakpoint_" + on, [=](benchmark::State& state) {
            goOn(state, store, How::breakpoint);
        })->UseManualTime();
        add("resume/update_" + on, [=](benchmark::State& state) { goOn(state, store, How::update); })->UseManualTime();
        add("resume/answer_" + on, [=](benchmark::State& state) { goOn(state, store, How::answer); })->UseManualTime();
    }
    for (const std::size_t size : {10, 1000, 10'000}) {
        if (quick() && size > 1000) continue;
        add("resume/open_load_go_on", size, [=](benchmark::State& state) { openLoadGoOn(state, size); })->UseRealTime();
        addFloor("resume/open_load_go_on", size, openAlone)->UseRealTime();
    }
}

}  // namespace bench
