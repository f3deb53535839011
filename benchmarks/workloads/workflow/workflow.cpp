// Workflows: chains of three and of nine steps, compared with the same chains of bare nodes; a chain of three without a
// saver; a foreach over 1,000 elements; a question and its answer. The memory saver keeps encoded records in any case,
// so `chain_encoded` is `chain`: it has the name of the case in which Mastra's store encodes too.
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

constexpr const char* names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};

void nodes(benchmark::State& state, int length) {
    sg::StateGraph<Number> graph;
    for (int i = 0; i < length; ++i) {
        graph.addNode(names[i], [](const Number& s) { return sg::set<&Number::n>(s.n + 1); });
        graph.addEdge(i == 0 ? std::string(sg::START) : std::string(names[i - 1]), names[i]);
    }
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    std::uint64_t run = 0;
    for (auto _ : state) {
        const auto result = app.invoke({sg::set<&Number::n>(1)}, {.thread_id = std::to_string(++run)});
        if (result.values.n != 1 + length) state.SkipWithError("wrong result");
    }
}

void chain(benchmark::State& state, int length, bool is_saved) {
    auto steps = wf::workflow<int>("chain");
    for (int i = 0; i < length; ++i) steps = std::move(steps).then(inc(names[i]));
    sg::CompileOptions options;
    if (is_saved) options.checkpointer = std::make_shared<sg::MemorySaver>();
    const auto flow = std::move(steps).commit(options);
    std::uint64_t run = 0;
    for (auto _ : state) {
        if (flow.start(std::to_string(++run), 1).result != 1 + length) state.SkipWithError("wrong result");
    }
}

void each(benchmark::State& state, int concurrency) {
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
    add("workflow/chain", [](benchmark::State& state) { chain(state, 3, true); });
    add("workflow/chain_encoded", [](benchmark::State& state) { chain(state, 3, true); });
    add("workflow/chain_unsaved", [](benchmark::State& state) { chain(state, 3, false); });
    addFloor("workflow/chain", [](benchmark::State& state) { nodes(state, 3); });
    add("workflow/chain_9", [](benchmark::State& state) { chain(state, 9, true); });
    addFloor("workflow/chain_9", [](benchmark::State& state) { nodes(state, 9); });
    add("workflow/foreach_1000", [](benchmark::State& state) { each(state, 10); })->UseRealTime();
    add("workflow/foreach_1000_serial", [](benchmark::State& state) { each(state, 1); });
    add("workflow/suspend_resume", suspendAndResume);
}

}  // namespace bench
