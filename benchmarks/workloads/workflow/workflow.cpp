// Workflows: a chain of three steps, beside the same chain of bare nodes; a foreach over 1,000 elements; a question and its answer.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "benchmarks/support/workload.hpp"

namespace bench {
namespace {

namespace sg = stategraph;
namespace wf = stategraph::workflow;

struct Number {
    int n = 0;
    static constexpr auto channels() { return sg::channels<&Number::n>(); }
};

auto inc(std::string id) {
    return wf::step(std::move(id), [](const int& n) { return n + 1; });
}

void nodes(benchmark::State& state) {
    sg::StateGraph<Number> graph;
    for (const char* name : {"a", "b", "c"})
        graph.addNode(name, [](const Number& s) { return sg::set<&Number::n>(s.n + 1); });
    graph.addEdge(sg::START, "a").addEdge("a", "b").addEdge("b", "c");
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    std::uint64_t run = 0;
    for (auto _ : state) {
        const auto result = app.invoke({sg::set<&Number::n>(1)}, {.thread_id = std::to_string(++run)});
        if (result.values.n != 4) state.SkipWithError("wrong result");
    }
}

void chain(benchmark::State& state) {
    const auto flow = wf::workflow<int>("chain").then(inc("a")).then(inc("b")).then(inc("c")).commit(
        {.checkpointer = std::make_shared<sg::MemorySaver>()});
    std::uint64_t run = 0;
    for (auto _ : state) {
        if (flow.start(std::to_string(++run), 1).result != 4) state.SkipWithError("wrong result");
    }
}

void foreach (benchmark::State& state, int concurrency) {
    const auto flow = wf::workflow<std::vector<int>>("each")
                          .foreach (inc("item"), {.concurrency = concurrency})
                          .commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const std::vector<int> list(1000, 1);
    std::uint64_t run = 0;
    for (auto _ : state) {
        if (flow.start(std::to_string(++run), list).result->size() != list.size()) state.SkipWithError("wrong result");
    }
}

void suspendAndResume(benchmark::State& state) {
    const auto ask = wf::step("ask", [](const int& n, wf::Suspending<std::string, int>& context) {
        return n + context.suspend("how much?");
    });
    const auto flow = wf::workflow<int>("asks").then(ask).commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    std::uint64_t run = 0;
    for (auto _ : state) {
        const std::string id = std::to_string(++run);
        flow.start(id, 1);
        if (flow.resume(id, ask, 2).result != 3) state.SkipWithError("wrong result");
    }
}

}  // namespace

void registerCases() {
    add("workflow/chain", chain);
    addFloor("workflow/chain", nodes);
    add("workflow/foreach_1000", [](benchmark::State& state) {
        foreach (state, 10)
            ;
    });
    add("workflow/foreach_1000_serial", [](benchmark::State& state) {
        foreach (state, 1)
            ;
    });
    add("workflow/suspend_resume", suspendAndResume);
}

}  // namespace bench
