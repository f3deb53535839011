#include "src/graph/topology.hpp"

#include <doctest/doctest.h>

#include <stategraph/command.hpp>
#include <stategraph/error.hpp>

#include "tests/support/specs.hpp"

namespace sg = stategraph;
using namespace specs;
using sg::END;
using sg::START;
using sg::engine::no_node;
using sg::engine::NodeIndex;
using sg::engine::Topology;
using Indexes = std::vector<NodeIndex>;

namespace {

Topology build(const sg::detail::GraphSpec& graph) { return sg::engine::buildTopology(graph, {}); }

struct Wide {
    int baz = 0;
    std::vector<std::string> bar = {};
    std::string foo = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("baz", &Wide::baz), sg::channel("bar", &Wide::bar, sg::append),
                            sg::channel("foo", &Wide::foo));
    }
};

struct Clashing {
    int foo = 0;
    std::vector<std::string> bar = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("foo", &Clashing::foo), sg::channel("bar", &Clashing::bar, sg::append));
    }
};

// `renamed` was once called foo, and the state has another foo today.
struct Renamed {
    std::string renamed = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("renamed", &Renamed::renamed, sg::formerly("foo")),
                            sg::channel("bar", &Renamed::bar, sg::append));
    }
};

struct BarOnly {
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel("bar", &BarOnly::bar)); }
};

struct Payload {
    int number = 0;
};

template <class S>
sg::detail::GraphSpec childGraph() {
    auto child = graph<S>();
    child.nodes.push_back({{}, "inner", sg::detail::makeNode<S, S>([](const S&) -> sg::Update<S> { return {}; }), {}});
    edge(child, START, "inner");
    return child;
}

// START -> sub, a subgraph
sg::detail::GraphSpec parentOf(sg::detail::GraphSpec child) {
    auto parent = graph();
    parent.nodes.push_back({{}, "sub", {}, {}});
    parent.nodes.back().subgraph.emplace().core = sg::detail::compileGraph(std::move(child), {});
    edge(parent, START, "sub");
    return parent;
}

std::vector<std::pair<int, int>> pairs(const std::vector<sg::engine::SharedChannel>& shared) {
    std::vector<std::pair<int, int>> out;
    for (const auto& each : shared) out.emplace_back(each.outer, each.inner);
    return out;
}
using Pairs = std::vector<std::pair<int, int>>;

}  // namespace

TEST_CASE("nodes are numbered by name, START among them, and found by name") {
    auto spec = graph({"b", "a", "Z"});
    path(spec, {START, "b", "a", "Z", END});
    const Topology topology = build(spec);
    std::vector<std::string> names;
    for (const auto& each : topology.nodes) names.push_back(each.name);
    CHECK(names == std::vector<std::string>{"Z", "__start__", "a", "b"});
    CHECK(topology.start == 1);
    CHECK(!static_cast<bool>(topology.nodes[1].action.call));
    CHECK(topology.find("b") == 3);
    CHECK(topology.find("c") == no_node);
    CHECK(topology.find(END) == no_node);
}

TEST_CASE("edges keep the order added, once each, and END is left out") {
    auto spec = graph({"a", "b", "c"});
    for (const auto* to : {"c", "a", END, "c", "b", END}) edge(spec, START, to);
    const Topology topology = build(spec);
    CHECK(topology.nodes[topology.start].edges == Indexes{topology.find("c"), topology.find("a"), topology.find("b")});
    CHECK(topology.nodes[topology.find("a")].edges.empty());
}

TEST_CASE("joins are sorted by key, keep their sources' order, and identical ones are one") {
    auto spec = graph({"a", "b", "c"});
    spec.nodes[2].defer = true;
    edge(spec, START, "a");
    edge(spec, START, "b");
    join(spec, {"b", "a"}, "c");
    join(spec, {"a", "b", "a"}, "c");
    join(spec, {"a", "b"}, "c");
    join(spec, {"a", START}, "b");
    join(spec, {"a", "b"}, END);
    const Topology topology = build(spec);
    const auto a = topology.find("a");
    const auto b = topology.find("b");
    REQUIRE(topology.joins.size() == 3);
    CHECK(topology.joins[0].key == "join:a+__start__:b");
    CHECK(topology.joins[0].sources == Indexes{a, topology.start});
    CHECK(!topology.joins[0].deferred);
    CHECK(topology.joins[1].key == "join:a+b:c");
    CHECK(topology.joins[1].sources == Indexes{a, b});
    CHECK(topology.joins[1].target == topology.find("c"));
    CHECK(topology.joins[1].deferred);
    CHECK(topology.joins[2].key == "join:b+a:c");
    CHECK(topology.findJoin("join:b+a:c") == 2);
    CHECK(topology.findJoin("join:c") == no_node);

    std::vector<std::pair<NodeIndex, NodeIndex>> slots;
    for (const auto& slot : topology.nodes[a].joins) slots.emplace_back(slot.join, slot.place);
    CHECK(slots == std::vector<std::pair<NodeIndex, NodeIndex>>{{0, 0}, {1, 0}, {2, 1}});
}

TEST_CASE("a join of one source stays a join") {
    auto spec = graph({"a", "b"});
    edge(spec, START, "a");
    join(spec, {"a"}, "b");
    const Topology topology = build(spec);
    CHECK(topology.nodes[topology.find("a")].edges.empty());
    REQUIRE(topology.joins.size() == 1);
    CHECK(topology.joins[0].key == "join:a:b");
}

TEST_CASE("a conditional edge's labels lead to indexes, and to no node for END") {
    auto spec = graph({"a", "b"});
    branch(spec, START, Ends{{"yes", "b"}, {"no", END}, {"yes", "b"}, {"a", "a"}});
    branch(spec, "a");
    branch(spec, "a", Ends{});
    const Topology topology = build(spec);
    REQUIRE(topology.nodes[topology.start].branches.size() == 1);
    const auto& first = topology.nodes[topology.start].branches[0];
    CHECK(first.has_ends);
    CHECK(first.ends == std::vector<std::pair<std::string, NodeIndex>>{
                            {"yes", topology.find("b")}, {"no", no_node}, {"a", topology.find("a")}});
    const auto& second = topology.nodes[topology.find("a")].branches;
    REQUIRE(second.size() == 2);
    CHECK(!second[0].has_ends);
    CHECK(second[1].has_ends);
    CHECK(static_cast<bool>(second[0].router.call));
}

TEST_CASE("a node's options come along") {
    auto spec = graph({"a"});
    spec.nodes[0].defer = true;
    spec.nodes[0].retry = {.max_attempts = 3};
    spec.nodes[0].metadata = "notes";
    edge(spec, START, "a");
    const Topology topology = build(spec);
    const auto& a = topology.nodes[topology.find("a")];
    CHECK(a.deferred);
    CHECK(a.retry.max_attempts == 3);
    CHECK(a.metadata == sg::Value("notes"));
    CHECK(a.action.callable == spec.nodes[0].action.callable);
    CHECK(!a.projects);
    CHECK(!a.payload_only);
}

TEST_CASE("a node with an input of its own gets a projection of the state by name") {
    auto spec = graph();
    spec.nodes.push_back(node<BarOnly>("part"));
    spec.nodes.push_back(node<Wide>("more"));
    spec.nodes.push_back(node<Payload>("payload"));
    edge(spec, START, "part");
    branch(spec, "part");
    const Topology topology = build(spec);
    const auto& part = topology.nodes[topology.find("part")];
    CHECK(part.projects);
    CHECK(!part.payload_only);
    CHECK(pairs(part.projection) == Pairs{{1, 0}});
    for (const auto* name : {"more", "payload"}) {
        const auto& other = topology.nodes[topology.find(name)];
        CHECK(!other.projects);
        CHECK(other.payload_only);
        CHECK(other.projection.empty());
    }
}

TEST_CASE("a subgraph shares the channels of its input and output by name and type") {
    auto child = childGraph<Wide>();
    child.input = {0, 1};
    child.output = {2, 1};
    const Topology topology = build(parentOf(std::move(child)));
    const auto& sub = topology.nodes[topology.find("sub")].subgraph;
    REQUIRE(sub.has_value());
    CHECK(pairs(sub->in) == Pairs{{1, 1}});
    CHECK(pairs(sub->out) == Pairs{{0, 2}, {1, 1}});
}

TEST_CASE("a former name shares nothing") {
    const Topology topology = build(parentOf(childGraph<Renamed>()));
    CHECK(pairs(topology.nodes[topology.find("sub")].subgraph->in) == Pairs{{1, 1}});
}

TEST_CASE("a subgraph's channel of another type is a fault unless it is mapped or not passed") {
    auto parent = parentOf(childGraph<Clashing>());
    try {
        build(parent);
        FAIL("nothing was thrown");
    } catch (const sg::InvalidGraphError& error) {
        CHECK(error.faults() ==
              std::vector<std::string>{
                  "node 'sub': channel 'foo' is of one type in the state and of another in the subgraph; make "
                  "them the same, or add the subgraph with two functions that map the state"});
    }
    auto narrow = childGraph<Clashing>();
    narrow.input = {1};
    narrow.output = {1};
    CHECK_NOTHROW(build(parentOf(std::move(narrow))));

    parent.nodes.back().subgraph->to_inner = [](const void*, const void*, sg::detail::Writes&) {};
    CHECK_THROWS_AS(build(parent), sg::InvalidGraphError);
    parent.nodes.back().subgraph->from_inner = [](const void*, const void*, sg::detail::Writes&) {};
    const Topology topology = build(parent);
    CHECK(topology.nodes[topology.find("sub")].subgraph->in.empty());
    CHECK(topology.nodes[topology.find("sub")].subgraph->out.empty());
}

TEST_CASE("the fingerprint is of what the graph means") {
    const auto base = [] {
        auto spec = graph({"a", "b", "c"});
        edge(spec, START, "a");
        edge(spec, START, "b");
        join(spec, {"a", "b"}, "c");
        branch(spec, "c", Ends{{"x", "a"}, {"y", END}});
        return spec;
    };
    const auto print = build(base()).fingerprint;
    auto spec = base();
    SUBCASE("not of the order in which it was built, nor of functions and options") {
        std::swap(spec.nodes[0], spec.nodes[2]);
        std::swap(spec.edges[0], spec.edges[2]);
        std::swap(spec.branches[0].ends->front(), spec.branches[0].ends->back());
        edge(spec, START, "a");
        edge(spec, "c", END);
        spec.nodes[0].retry.max_attempts = 9;
        spec.nodes[0].metadata = 1;
        spec.nodes[0].ends = {END};
        CHECK(build(spec).fingerprint == print);
    }
    SUBCASE("of names") {
        spec.nodes[1].name = "B";
        spec.edges[1].to = "B";
        spec.edges[2].from[1] = "B";
        CHECK(build(spec).fingerprint != print);
    }
    SUBCASE("of edges") {
        edge(spec, "a", "b");
        CHECK(build(spec).fingerprint != print);
    }
    SUBCASE("of joins") {
        join(spec, {"a"}, "c");
        CHECK(build(spec).fingerprint != print);
    }
    SUBCASE("of a conditional edge's ends") {
        spec.branches[0].ends->back().second = "b";
        CHECK_THROWS_AS(build(spec), sg::InvalidGraphError);
        spec.branches[0].ends->push_back({"z", END});
        CHECK(build(spec).fingerprint != print);
    }
    SUBCASE("of whether they are declared") {
        spec.branches[0].ends.reset();
        CHECK(build(spec).fingerprint != print);
    }
    SUBCASE("of deferring") {
        spec.nodes[2].defer = true;
        CHECK(build(spec).fingerprint != print);
    }
}

TEST_CASE("the fingerprint is the same in every build of the library") {
    auto spec = graph({"a", "b"});
    path(spec, {START, "a", "b", END});
    CHECK(build(spec).fingerprint == 426638998221906389U);
}
