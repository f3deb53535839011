#include "src/graph/validate.hpp"

#include <chrono>
#include <cmath>

#include <doctest/doctest.h>

#include <stategraph/command.hpp>
#include <stategraph/error.hpp>

#include "src/graph/topology.hpp"
#include "tests/support/specs.hpp"

namespace sg = stategraph;
using namespace specs;
using namespace std::chrono_literals;
using Faults = std::vector<std::string>;
using sg::END;
using sg::START;

namespace {

Faults faultsOf(const sg::detail::GraphSpec& graph, const sg::CompileOptions& options = {}) {
    return sg::engine::validate(graph, options);
}

// START -> a -> b -> END
sg::detail::GraphSpec chain() {
    auto spec = graph({"a", "b"});
    path(spec, {START, "a", "b", END});
    return spec;
}

struct Payload {
    int number = 0;
};

struct Foo {
    std::string foo = {};
    static constexpr auto channels() { return sg::channels(sg::channel("foo", &Foo::foo)); }
};

struct Other {
    std::vector<std::string> foo = {};
    int baz = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("foo", &Other::foo), sg::channel("baz", &Other::baz));
    }
};

}  // namespace

TEST_CASE("a chain from START to END has no faults") { CHECK(faultsOf(chain()) == Faults{}); }

TEST_CASE("a graph whose START leads straight to END is valid") {
    auto spec = graph();
    edge(spec, START, END);
    CHECK(faultsOf(spec) == Faults{});
}

TEST_CASE("all faults are reported at once and thrown together") {
    auto spec = graph({"a", "a", "b|c", "__end__"});
    spec.nodes.front().retry.max_attempts = 0;
    edge(spec, START, "a");
    edge(spec, "a", "elsewhere");
    const Faults expected = {
        "node 'a': retry.max_attempts is 0, but must be a number of at least 1",
        "node 'b|c': a name cannot contain '|' or ':', which separate namespaces; choose another",
        "node '__end__': names that begin with \"__\" are reserved; choose another",
        "node 'a' was added 2 times; give each node a name of its own",
        "edge from 'a' to 'elsewhere': there is no node 'elsewhere'; add it with addNode or correct the name",
        "interrupt_before: there is no node 'nobody'; add it with addNode or correct the name",
        "node 'b|c' cannot be reached from __start__; add an edge to it; if a Command or a Send goes there, declare it "
        "with "
        ".ends at the node that returns it",
    };
    const sg::CompileOptions options{.interrupt_before = {"nobody"}};
    CHECK(faultsOf(spec, options) == expected);
    try {
        sg::engine::buildTopology(spec, options);
        FAIL("nothing was thrown");
    } catch (const sg::InvalidGraphError& error) {
        CHECK(error.faults() == expected);
    }
}

TEST_CASE("names that are empty, reserved, used by namespaces or not text are faults") {
    auto spec = graph({"", "__start__", "__x", "a:b", "*", "\xff"});
    branch(spec, START);
    CHECK(faultsOf(spec) ==
          Faults{"the node added as number 1 has no name; give it one",
                 "node '__start__': names that begin with \"__\" are reserved; choose another",
                 "node '__x': names that begin with \"__\" are reserved; choose another",
                 "node 'a:b': a name cannot contain '|' or ':', which separate namespaces; choose another",
                 "node '*': in interrupt_before and interrupt_after this is every node; choose another name",
                 "node '\xff': a name must be UTF-8, so that it can be stored; choose another"});
}

TEST_CASE("names with spaces, quotes and other scripts are fine") {
    auto spec = graph({"two words", "it's", "Grüße", "a_b-c.d+e"});
    path(spec, {START, "two words", "it's", "Grüße", "a_b-c.d+e", END});
    CHECK(faultsOf(spec) == Faults{});
}

TEST_CASE("a node needs a function or a compiled subgraph") {
    auto spec = chain();
    spec.nodes[0].action = {};
    spec.nodes[1].action = {};
    spec.nodes[1].subgraph.emplace();
    CHECK(faultsOf(spec) == Faults{"node 'a' has neither a function nor a subgraph; add it with one",
                                   "node 'b': its subgraph is not compiled; add what compile() returned"});
}

TEST_CASE("an unknown name is reported with the name that was probably meant") {
    auto spec = graph({"nodeA", "nodeB"});
    edge(spec, "__strat__", "nodeA");
    edge(spec, "nodea", "ndoeB");
    edge(spec, "nodeB", "__END__");
    // Nothing is called unreachable because of a slip.
    CHECK(faultsOf(spec) ==
          Faults{"edge from '__strat__' to 'nodeA': there is no node '__strat__'; did you mean '__start__'?",
                 "edge from 'nodea' to 'ndoeB': there is no node 'ndoeB'; did you mean 'nodeB'?",
                 "edge from 'nodea' to 'ndoeB': there is no node 'nodea'; did you mean 'nodeA'?",
                 "edge from 'nodeB' to '__END__': there is no node '__END__'; did you mean '__end__'?"});
}

TEST_CASE("END and START as texts of their own are answered with the constants") {
    auto spec = graph({"a"});
    edge(spec, "START", "a");
    edge(spec, "a", "END");
    const Faults faults = faultsOf(spec);
    REQUIRE(faults.size() >= 2);
    CHECK(faults[0].ends_with("there is no node 'START'; did you mean sg::START?"));
    CHECK(faults[1].ends_with("there is no node 'END'; did you mean sg::END?"));
}

TEST_CASE("nothing leads to START and nothing follows END") {
    auto spec = chain();
    edge(spec, "b", START);
    edge(spec, END, "a");
    join(spec, {"a", END}, "b");
    branch(spec, END, Ends{{"a", "a"}});
    branch(spec, "b", Ends{{"again", START}});
    spec.nodes[0].ends = {START};
    const std::string to_start = ": nothing can lead to __start__; name the node that should run instead";
    const std::string from_end = ": nothing follows __end__; name another source";
    CHECK(faultsOf(spec) == Faults{"edge from 'b' to '__start__'" + to_start, "edge from '__end__' to 'a'" + from_end,
                                   "join of 'a', '__end__' into 'b'" + from_end,
                                   "conditional edge from '__end__'" + from_end, "conditional edge from 'b'" + to_start,
                                   "ends of node 'a'" + to_start});
}

TEST_CASE("a join may have START, one source or a source twice") {
    auto spec = graph({"a", "b", "c"});
    edge(spec, START, "a");
    join(spec, {START, "a", "a"}, "b");
    join(spec, {"b"}, "c");
    CHECK(faultsOf(spec) == Faults{});
}

TEST_CASE("an edge needs a source and a conditional edge a function") {
    auto spec = chain();
    spec.edges.push_back({.from = {}, .join = false, .to = "b"});
    branch(spec, "a", Ends{{"b", "b"}});
    spec.branches.back().router = {};
    CHECK(faultsOf(spec) == Faults{"an edge to 'b' has no source; name one",
                                   "conditional edge from 'a' has no function; add it with one"});
}

TEST_CASE("joins that a checkpoint could not tell apart are a fault") {
    auto spec = graph({"a", "a+b", "b+c", "c", "d"});
    for (const auto* name : {"a", "a+b", "b+c", "c"}) edge(spec, START, name);
    join(spec, {"a+b", "c"}, "d");
    join(spec, {"a", "b+c"}, "d");
    join(spec, {"a", "b+c"}, "d");
    const std::string fault =
        "the joins of 'a+b', 'c' and of 'a', 'b+c' into 'd' cannot be told apart in a checkpoint; take the '+' out of "
        "a node's "
        "name";
    CHECK(faultsOf(spec) == Faults{fault});
}

TEST_CASE("the source and the ends of a conditional edge must exist") {
    auto spec = chain();
    branch(spec, "ghost", Ends{{"a", "a"}});
    branch(spec, "a", Ends{{"yes", "b"}, {"no", "ghost"}, {"yes", END}});
    spec.nodes[1].ends = {"ghost"};
    const std::string unknown = ": there is no node 'ghost'; add it with addNode or correct the name";
    CHECK(faultsOf(spec) ==
          Faults{"conditional edge from 'ghost'" + unknown, "conditional edge from 'a'" + unknown,
                 "conditional edge from 'a': its end 'yes' leads both to 'b' and to '__end__'; give each its own label",
                 "ends of node 'b'" + unknown});
}

TEST_CASE("a graph without entry is one fault and its nodes are not called unreachable") {
    auto spec = graph({"a", "b"});
    path(spec, {"a", "b", END});
    CHECK(faultsOf(spec) ==
          Faults{"the graph has no entry: add an edge or a conditional edge from sg::START to the node that "
                 "runs first"});
    branch(spec, START, Ends{{"a", "a"}});
    CHECK(faultsOf(spec) == Faults{});
}

TEST_CASE("interrupts name nodes, or all of them") {
    const sg::CompileOptions options{.interrupt_before = {"*", "a"}, .interrupt_after = {"bb", END}};
    CHECK(faultsOf(chain(), options) ==
          Faults{"interrupt_after: there is no node 'bb'; did you mean 'b'?",
                 "interrupt_after: __end__ is not a node that could be interrupted; name a node, or \"*\" for all"});
}

TEST_CASE("impossible retry policies are faults") {
    auto spec = chain();
    spec.nodes[0].retry = {.max_attempts = -1, .initial_interval = -5ms, .backoff_factor = 0.5, .max_interval = -1ms};
    spec.nodes[1].retry = {.initial_interval = std::chrono::duration<double, std::milli>(std::nan("")),
                           .max_interval = std::chrono::duration<double, std::milli>(HUGE_VAL),
                           .retry_on = nullptr};
    CHECK(faultsOf(spec) == Faults{"node 'a': retry.max_attempts is -1, but must be a number of at least 1",
                                   "node 'a': retry.initial_interval is -5 ms, but must be a number of at least 0 ms",
                                   "node 'a': retry.backoff_factor is 0.5, but must be a number of at least 1",
                                   "node 'a': retry.max_interval is -1 ms, but must be a number of at least 0 ms",
                                   "node 'b': retry.initial_interval is nan ms, but must be a number of at least 0 ms",
                                   "node 'b': retry.max_interval is inf ms, but must be a number of at least 0 ms",
                                   "node 'b': retry.retry_on is null; give it a function, such as sg::isRetryable"});
    spec.nodes[0].retry = {.max_attempts = 1, .initial_interval = 0ms, .backoff_factor = 1, .max_interval = 0ms};
    spec.nodes[1].retry = {};
    CHECK(faultsOf(spec) == Faults{});
}

TEST_CASE("a node that nothing leads to is unreachable unless some router may go anywhere") {
    auto spec = chain();
    spec.nodes.push_back(node("lost"));
    spec.nodes.push_back(node("behind"));
    edge(spec, "lost", "behind");
    const std::string advice =
        " cannot be reached from __start__; add an edge to it; if a Command or a Send goes there, declare it with "
        ".ends at the "
        "node that returns it";
    CHECK(faultsOf(spec) == Faults{"node 'lost'" + advice, "node 'behind'" + advice});
    SUBCASE("a Command declares it") { spec.nodes[0].ends = {{"lost"}}; }
    SUBCASE("a conditional edge declares it") { branch(spec, "b", Ends{{"x", "lost"}}); }
    SUBCASE("a router declares nothing") { branch(spec, "behind"); }
    CHECK(faultsOf(spec).empty() == !(spec.branches.empty() && !spec.nodes[0].ends.isGiven()));
}

TEST_CASE("a declaration on an unreachable node reaches nothing") {
    auto spec = chain();
    spec.nodes.push_back(node("lost"));
    spec.nodes.back().ends = {{"lost"}};
    CHECK(faultsOf(spec).size() == 2);
}

TEST_CASE("a cycle without exit is a fault that names its nodes") {
    auto spec = graph({"in", "b", "a", "self"});
    path(spec, {START, "in", "a", "b", "a"});
    edge(spec, "in", "self");
    edge(spec, "self", "self");
    const std::string advice =
        "; add an edge or a conditional edge that leaves it; if a Command leaves it, declare that with .ends";
    const Faults expected = {
        "nodes 'a', 'b' form a cycle and can never reach an end" + advice,
        "node 'self' leads to itself and can never reach an end" + advice,
        "node 'in' can never reach an end: everything after it is a cycle" + advice,
    };
    CHECK(faultsOf(spec) == expected);

    SUBCASE("declared ends that all lead back are no exit") {
        branch(spec, "b", Ends{{"x", "a"}, {"y", "b"}});
        CHECK(faultsOf(spec) == expected);
    }
    SUBCASE("an exit of the knot is one for every node before it") {
        branch(spec, "b", Ends{{"x", "a"}, {"y", END}});
        CHECK(faultsOf(spec) == Faults{expected[1]});
    }
    SUBCASE("a router that may go anywhere is an exit") {
        branch(spec, "self");
        CHECK(faultsOf(spec) == Faults{expected[0]});
    }
    SUBCASE("a Command's declared way to END is an exit") {
        spec.nodes[2].ends = {{END}};
        spec.nodes[3].ends = {{END}};
        CHECK(faultsOf(spec) == Faults{});
    }
}

TEST_CASE("a node without anything after it is an end") {
    auto spec = graph({"a", "b", "c"});
    path(spec, {START, "a", "b", "a"});
    branch(spec, "b", Ends{{"c", "c"}});
    spec.nodes[2].ends = sg::NodeNames::none();
    CHECK(faultsOf(spec) == Faults{});
}

TEST_CASE("a node that takes a payload can be sent to and declared, but not joined or linked") {
    auto spec = chain();
    spec.nodes.push_back(node<Payload>("work"));
    SUBCASE("declared as a conditional edge's end") {
        branch(spec, "a", Ends{{"work", "work"}});
        CHECK(faultsOf(spec) == Faults{});
    }
    SUBCASE("declared as a Command's end") {
        spec.nodes[0].ends = {{"work"}};
        CHECK(faultsOf(spec) == Faults{});
    }
    SUBCASE("an edge") {
        edge(spec, "a", "work");
        CHECK(faultsOf(spec) ==
              Faults{"node 'work' takes a payload and can only be reached by a Send; take away the edge from 'a' "
                     "to 'work', or let the node take the state or a part of it"});
    }
    SUBCASE("a join") {
        join(spec, {"a", "b"}, "work");
        CHECK(faultsOf(spec) ==
              Faults{"node 'work' takes a payload and can only be reached by a Send; take away the join of 'a', "
                     "'b' into 'work', or let the node take the state or a part of it"});
    }
}

TEST_CASE("a node may take a part of the state") {
    auto spec = chain();
    spec.nodes[1] = node<Foo>("b");
    CHECK(faultsOf(spec) == Faults{});
}

TEST_CASE("an input with channels that the state does not have is a fault where an edge leads to the node") {
    auto spec = chain();
    spec.nodes[1] = node<Other>("b");
    CHECK(faultsOf(spec) ==
          Faults{"node 'b' takes an input that is not a part of the state (the state's channel 'foo' is of another "
                 "type, the state has no channel 'baz'), so only a Send can reach it, but the edge from 'a' to "
                 "'b' leads to it; match the channels' names and types"});
    spec.edges.clear();
    path(spec, {START, "a", END});
    branch(spec, "a", Ends{{"b", "b"}});
    CHECK(faultsOf(spec) == Faults{});  // a Send may come that way
}

TEST_CASE("more nodes than indexes is one fault") {
    auto spec = graph();
    spec.nodes.resize(65'001);
    CHECK(faultsOf(spec) == Faults{"the graph has 65001 nodes, but 65000 are the most; split it into subgraphs"});
}

TEST_CASE("a long chain is checked without deep recursion and in little time") {
    auto spec = graph();
    std::vector<std::string> names = {START};
    for (int i = 0; i < 60'000; ++i) {
        names.push_back("n" + std::to_string(i));
        spec.nodes.push_back(node(names.back()));
    }
    path(spec, names);
    CHECK(faultsOf(spec) == Faults{});
    edge(spec, names.back(), names[1]);
    CHECK(faultsOf(spec).size() == 1);
}
