// ALSO PLAIN: it fails or counts allocations
#include <doctest/doctest.h>

#include <stategraph/stategraph.hpp>

#include "tests/support/failing_new.hpp"

// A superstep allocates nothing once its run has reserved enough memory.
namespace sg = stategraph;

namespace {

struct Counter {
    int n = 0;
    int limit = 0;
    double sum = 0;

    static constexpr auto channels() {
        return sg::channels(sg::channel("n", &Counter::n), sg::channel("limit", &Counter::limit),
                            sg::channel("sum", &Counter::sum, sg::sum));
    }
};

sg::Update<Counter> step(const Counter& state) {
    return {sg::set(&Counter::n, state.n + 1), sg::add(&Counter::sum, 0.5)};
}

/// A loop of one node and its router.
sg::CompiledGraph<Counter> loop() {
    sg::StateGraph<Counter> graph;
    graph.addNode("a", step).addEdge(sg::START, "a");
    graph.addConditionalEdges("a", [](const Counter& state) { return state.n < state.limit ? "a" : sg::END; });
    return graph.compile();
}

/// A loop of a fan-out to three nodes and a join, executed one task after another.
sg::CompiledGraph<Counter> fanLoop() {
    sg::StateGraph<Counter> graph;
    const auto adds = [](const Counter&) -> sg::Update<Counter> { return {sg::add(&Counter::sum, 1.0)}; };
    graph.addNode("split", step).addEdge(sg::START, "split");
    for (const char* name : {"x", "y", "z"}) graph.addNode(name, adds).addEdge("split", name);
    graph.addNode("join", adds).addEdge({"x", "y", "z"}, "join");
    graph.addConditionalEdges("join", [](const Counter& state) { return state.n < state.limit ? "split" : sg::END; });
    return graph.compile();
}

std::size_t allocationsOf(const sg::CompiledGraph<Counter>& app, int rounds) {
    const sg::RunConfig config{.recursion_limit = 10 * rounds, .max_concurrency = 1};
    const sg::Update<Counter> input{sg::set(&Counter::limit, rounds)};
    failing_new::count();
    const auto result = app.invoke(input, config);
    const std::size_t count = failing_new::counted();
    CHECK(result.values.n == rounds);
    return count;
}

}  // namespace

TEST_CASE("a steady superstep without a saver allocates nothing") {
    if (!failing_new::available()) {
        MESSAGE("not tried: the sanitizer has its own operator new");
        return;
    }
    for (const auto& app : {loop(), fanLoop()}) {
        allocationsOf(app, 10);  // the thread then keeps the memory of its runs
        const std::size_t few = allocationsOf(app, 10);
        CHECK(allocationsOf(app, 1000) == few);
        CHECK(few < 20);
    }
}
