#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>

#include "tests/run/graph_calls.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"

// Commands that an inner graph gives to the outer graph.
using namespace graphs;
using namespace std::chrono_literals;
using namespace graph_calls;

namespace {

struct Parent {
    std::string label = {};
    Strings seen = {};

    static constexpr auto channels() {
        return sg::channels(sg::channel("label", &Parent::label), sg::channel("seen", &Parent::seen, sg::append));
    }
};

sg::CompiledGraph<Work> handsOver() {
    sg::StateGraph<Work> inner;
    inner.addNode("leaves", [](const Work& given) -> sg::Command<Parent> {
        return {.update = {sg::set(&Parent::label, given.name), sg::add(&Parent::seen, "inner")},
                .go_to = "other",
                .graph = sg::PARENT};
    });
    inner.addEdge(sg::START, "leaves");
    return inner.compile();
}

}  // namespace

TEST_CASE("a node inside writes to the parent's state with a Command of that state, from a subgraph and from a call") {
    for (const bool called : {false, true}) {
        CAPTURE(called);
        sg::StateGraph<Parent> graph;
        const auto inner = handsOver();
        if (called) {
            graph.addNode("inner",
                          [inner](const Parent&, sg::Runtime& rt) -> sg::Update<Parent> {
                              (void)rt.invoke(inner, work("inside", 1), "k");
                              return {sg::set(&Parent::label, "never")};
                          },
                          {.ends = {"other"}});
        } else {
            graph.addNode(
                "inner", inner, [](const Parent&) { return work("inside", 1); },
                [](const Work&) { return sg::Update<Parent>{}; }, {.ends = {"other"}});
        }
        graph.addNode("other", [](const Parent& state) -> sg::Update<Parent> {
            return {sg::add(&Parent::seen, "other after " + state.label)};
        });
        graph.addEdge(sg::START, "inner");
        const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const auto done = driver.run(app, sg::Update<Parent>{}, {.thread_id = driver.name});
            REQUIRE(done.what() == "");
            CHECK(done.values.label == "inside");
            CHECK(done.values.seen == Strings{"inner", "other after inside"});
        }
    }
}

TEST_CASE("a Command with an update of another state than the parent's, or without PARENT, is an error that says so") {
    Graph graph;
    graph.addNode(
        "inner", handsOver(), [](const State&) { return work("x", 1); }, [](const Work&) { return Update{}; },
        {.ends = {"other"}});
    graph.addNode("other", appends("other"));
    graph.addEdge(sg::START, "inner");
    CHECK(contains(thrown<sg::InvalidUpdateError>([&] { graph.compile().invoke(Update{}); }).what(),
                   "of another state than that graph's"));

    sg::StateGraph<Work> inner;
    inner.addNode("stays",
                  [](const Work&) -> sg::Command<Parent> { return {.update = {sg::set(&Parent::label, "x")}}; });
    inner.addEdge(sg::START, "stays");
    CHECK(contains(thrown<sg::InvalidUpdateError>([&] { inner.compile().invoke(sg::Update<Work>{}); }).what(),
                   "graph = PARENT"));
}
