#include <chrono>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>
#include <stategraph/json.hpp>

#include "tests/run/cached_nodes.hpp"
#include "tests/support/caches.hpp"
#include "tests/support/graphs.hpp"

// Which inputs of a cached node count as equal.
using namespace graphs;
using namespace std::chrono_literals;
using namespace cached_nodes;

TEST_CASE("a key of one's own decides what counts as the same input") {
    Log log;
    const App app = line(log, {.cache = {.key = [](const State& state) { return state.foo.substr(0, 1); }}})
                        .compile({.cache = newCache()});
    app.invoke(foo("apple"));
    app.invoke(foo("avocado"));
    app.invoke(foo("banana"));
    CHECK(log.count("a") == 2);
}

TEST_CASE("a key function that throws is a failure of its node") {
    Log log;
    const App app = line(log, {.cache = {.key = [](const State&) -> int { throw std::out_of_range("no key"); }}})
                        .compile({.cache = newCache()});
    const auto error = thrown<sg::NodeError>([&] { app.invoke(foo("x")); });
    CHECK(error.context().node == "a");
    CHECK(error.message() == "the cache key of node 'a' failed: no key");
    CHECK(log.entries().empty());
}

TEST_CASE("nodes, graphs and namespaces keep their results apart") {
    Log log;
    const auto cache = newCache();
    line(log, {.cache = {}}).compile({.cache = cache}).invoke(foo("x"));
    line(log, {.cache = {.ns = "v2"}}).compile({.cache = cache}).invoke(foo("x"));
    Graph other = line(log, {.cache = {}});
    other.addEdge(sg::START, "after");
    other.compile({.cache = cache}).invoke(foo("x"));
    CHECK(log.count("a") == 3);
    line(log, {.cache = {}}).compile({.cache = cache}).invoke(foo("x"));
    line(log, {.cache = {.ns = "v2"}}).compile({.cache = cache}).invoke(foo("x"));
    CHECK(log.count("a") == 3);
    Graph pair;
    for (const char* name : {"b", "c"}) pair.addNode(name, appends(log, name), {.cache = {}}).addEdge(sg::START, name);
    const App app = pair.compile({.cache = cache});
    for (int i = 0; i < 2; ++i) CHECK(app.invoke(foo("x")).values.bar == Strings{"b", "c"});
    CHECK(log.count("b") == 1);
    CHECK(log.count("c") == 1);
}

TEST_CASE("the payload of a Send is the key, also within one superstep's later runs") {
    Log log;
    Graph graph;
    graph.addNode(
        "split",
        [](const State& state) -> Command {
            Command command;
            for (int i = 0; i < state.n; ++i) command.go_to.add(sg::Send("w", i % 2));
            return command;
        },
        leadsTo({"w"}));
    graph.addNode("w",
                  [&log](const int& number) -> Update {
                      log.add(std::to_string(number));
                      return bar(std::to_string(number));
                  },
                  {.cache = {}});
    graph.addEdge(sg::START, "split");
    const App app = graph.compile({.cache = newCache()});
    CHECK(app.invoke({sg::add(&State::n, 2)}, {.max_concurrency = 1}).values.bar == Strings{"0", "1"});
    CHECK(app.invoke({sg::add(&State::n, 4)}).values.bar == Strings{"0", "1", "0", "1"});
    CHECK(log.takeSorted() == Strings{"0", "1"});
}

TEST_CASE("of a node that takes a part of the state only that part counts") {
    struct Part {
        std::string foo = {};
        static constexpr auto channels() { return sg::channels(sg::channel("foo", &Part::foo)); }
    };
    Log log;
    for (const bool with_key : {false, true}) {
        sg::CachePolicy policy;
        if (with_key) policy.key = [](const Part& part) { return part.foo; };
        Graph graph;
        graph.addNode("a",
                      [&log](const Part& part) -> Update {
                          log.add(part.foo);
                          return bar(part.foo);
                      },
                      {.cache = policy});
        graph.addEdge(sg::START, "a");
        const App app = graph.compile({.cache = newCache()});
        app.invoke({sg::set(&State::foo, "x"), sg::add(&State::n, 1)});
        CHECK(app.invoke({sg::set(&State::foo, "x"), sg::add(&State::n, 2)}).values.bar == Strings{"x"});
        app.invoke(foo("y"));
        CHECK(log.take() == Strings{"x", "y"});
    }
}

TEST_CASE("the key of a subgraph takes the state around it") {
    Log log;
    Graph inner;
    inner.addNode("in", appends(log, "in")).addEdge(sg::START, "in");
    Graph graph;
    graph.addNode("sub", inner.compile(), {.cache = {.key = [](const State& state) { return state.n; }}})
        .addEdge(sg::START, "sub");
    const App app = graph.compile({.cache = newCache()});
    app.invoke(foo("x"));
    app.invoke(foo("y"));
    CHECK(log.count("in") == 1);
}

TEST_CASE("a key that takes something else than the node, and an impossible time, are faults of the graph") {
    Log log;
    const auto faults = [&](const sg::NodeOptions& options) {
        return thrown<sg::InvalidGraphError>([&] { line(log, options).compile(); }).faults();
    };
    CHECK(faults({.cache = {.key = [](const int& n) { return n; }, .ttl = 0ms}}) ==
          Strings{"node 'a': cache.ttl is 0 ms, but must be at least 1 ms",
                  "node 'a': cache.key takes another type than the node; let it take what the node takes"});
    line(log, {.cache = {.ttl = 0ms, .use = sg::CacheUse::off}}).compile();
}
