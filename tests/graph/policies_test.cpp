#include <chrono>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>

#include "tests/support/graphs.hpp"

// Policies for all nodes of a graph, and their faults.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

struct Counting {
    Log log;
    int failures = 0;

    auto node(std::string name) {
        return [this, name](const State&) -> Update {
            log.add(name);
            if (failures-- > 0) throw std::runtime_error("not yet");
            return bar(name);
        };
    }
};

sg::RetryPolicy quick(int attempts) { return {.max_attempts = attempts, .initial_interval = 0ms, .jitter = false}; }

Strings faultsOf(const Graph& graph) {
    return thrown<sg::InvalidGraphError>([&] { graph.compile(); }).faults();
}

}  // namespace

TEST_CASE("node defaults are for nodes that say nothing, before and after they were set") {
    Counting counting;
    Graph graph;
    graph.addNode("a", counting.node("a"))
        .addEdge(sg::START, "a")
        .addEdge("a", "b")
        .addEdge("b", "c")
        .addEdge("c", "d");
    graph.setNodeDefaults({.retry = quick(2)});
    graph.addNode("b", counting.node("b"));
    graph.addNode("c", counting.node("c"), {.retry = quick(3)});
    graph.addNode("d", counting.node("d"), {.retry = {}});
    const auto attempts = [&](const char* name, int failures) {
        const App app =
            graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .interrupt_before = {name}});
        counting.failures = 0;
        app.invoke(Update{}, {.thread_id = "t"});
        counting.failures = failures;
        counting.log.take();
        try {
            app.invoke(sg::RESUME, {.thread_id = "t"});
        } catch (const sg::NodeError&) {
            counting.log.add("failed");
        }
        const Strings log = counting.log.take();
        return std::count(log.begin(), log.end(), name) + 10 * std::count(log.begin(), log.end(), "failed");
    };
    CHECK(attempts("a", 1) == 2);
    CHECK(attempts("a", 2) == 12);
    CHECK(attempts("b", 2) == 12);
    CHECK(attempts("c", 2) == 3);
    CHECK(attempts("d", 1) == 11);
}

TEST_CASE("a policy that was changed in a node's options is the node's own") {
    Counting counting;
    counting.failures = 2;
    sg::NodeOptions options;
    options.retry.max_attempts = 3;
    options.retry.initial_interval = 0ms;
    Graph graph;
    graph.setNodeDefaults({.retry = quick(2)}).addNode("a", counting.node("a"), options).addEdge(sg::START, "a");
    graph.compile().invoke(Update{});
    CHECK(counting.log.count("a") == 3);
}

TEST_CASE("the cache of the defaults is for all nodes but those that say off") {
    Log log;
    Graph graph;
    graph.setNodeDefaults({.cache = {}});
    graph.addNode("a", appends(log, "a")).addNode("b", appends(log, "b"), {.cache = {.use = sg::CacheUse::off}});
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b");
    const App app = graph.compile({.cache = std::make_shared<sg::MemoryCache>()});
    for (int i = 0; i < 2; ++i) CHECK(app.invoke(bar("i")).values.bar == Strings{"i", "a", "b"});
    CHECK(log.takeSorted() == Strings{"a", "b", "b"});
}

TEST_CASE("defaults stop at a subgraph's border, and count for the subgraph's node") {
    Counting counting;
    counting.failures = 1;
    Graph inner;
    inner.addNode("in", counting.node("in")).addEdge(sg::START, "in");
    Graph graph;
    graph.setNodeDefaults({.retry = quick(2)}).addNode("sub", inner.compile()).addEdge(sg::START, "sub");
    graph.compile().invoke(Update{});  // tried again as a whole
    CHECK(counting.log.count("in") == 2);
    Graph other;
    other.addNode("sub", inner.compile(), {.retry = {}}).setNodeDefaults({.retry = quick(2)}).addEdge(sg::START, "sub");
    counting.failures = 1;
    CHECK_THROWS_AS(other.compile().invoke(Update{}), sg::NodeError);
}

TEST_CASE("impossible defaults are one fault, however many nodes there are") {
    Graph graph;
    graph.addNode("a", appends("a")).addNode("b", appends("b")).addEdge(sg::START, "a").addEdge("a", "b");
    graph.setNodeDefaults({.retry = quick(0)});
    CHECK(faultsOf(graph) == Strings{"the node defaults: retry.max_attempts is 0, but must be a number of at least 1"});
}

TEST_CASE("handlers of nodes that there are not, two for one node and other inputs are faults") {
    const auto handler = [](const State&, const sg::NodeFailure&) -> Update { return {}; };
    const auto of_int = [](const int&, const sg::NodeFailure&) -> Update { return {}; };
    Graph graph;
    graph.addNode("node", appends("a")).addEdge(sg::START, "node");
    graph.onError("nod", handler)
        .onError("node", handler)
        .onError("node", of_int)
        .onError("*", of_int)
        .onError(sg::END, handler);
    CHECK(
        faultsOf(graph) ==
        Strings{"error handler of node 'nod': there is no node 'nod'; did you mean 'node'?",
                "error handler of node 'node': there are two; keep one",
                "error handler of node 'node' takes neither the state nor what the node takes; let it take one of them",
                "the error handler of all nodes must take the state, whatever the nodes take",
                "error handler of node '__end__': it is not a node that could fail; name a node, or \"*\" for all"});
}

TEST_CASE("a node that only a handler leads to is reached if the handler says so") {
    const auto handler = [](const State&, const sg::NodeFailure&) -> Command { return {.go_to = {"b"}}; };
    const auto make = [&](const char* of, bool declares) {
        Graph graph;
        graph.addNode("a", [](const State&) -> Update { throw std::runtime_error("broken"); })
            .addNode("b", appends("b"))
            .addEdge(sg::START, "a");
        declares ? graph.onError(of, handler, {"b"}) : graph.onError(of, handler);
        return graph;
    };
    for (const char* of : {"a", "*"}) {
        CHECK(make(of, true).compile().invoke(Update{}).values.bar == Strings{"b"});
        CHECK(contains(faultsOf(make(of, false)).at(0), "node 'b' cannot be reached"));
    }
    Graph unknown;
    unknown.addNode("a", appends("a")).addEdge(sg::START, "a").onError("a", handler, {"nowhere"});
    CHECK(contains(faultsOf(unknown).at(0), "ends of error handler of node 'a': there is no node 'nowhere'"));
}

TEST_CASE("a drawing shows where an error handler leads, next to the node's own edges") {
    Graph graph;
    graph.addNode("a", appends("a")).addNode("b", appends("b")).addEdge(sg::START, "a");
    graph.onError("a", [](const State&, const sg::NodeFailure&) -> Command { return {.go_to = {"b"}}; }, {"b"});
    const std::string drawing = graph.toMermaid();
    CHECK(contains(drawing, "a -. &nbsp;error&nbsp; .-> b"));
    CHECK(contains(drawing, "a --> __end__"));
}
