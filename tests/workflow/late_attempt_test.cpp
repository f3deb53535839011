#include <memory>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/interrupt.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/workflow/definitions.hpp"

// Views, answers and time travel use the newest attempt of a workflow inside, and what it has done until it waits.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using namespace std::chrono_literals;
using wf::RunStatus;

namespace {

struct Sum {
    int total = 0;
    static constexpr auto channels() { return sg::channels<&Sum::total>(); }
};

auto asksInGraph() {
    sg::StateGraph<Sum> graph;
    graph.addNode("ask", [](const Sum& s, sg::Runtime& runtime) {
        return sg::set<&Sum::total>(s.total + sg::interrupt<int>(runtime, "how much?"));
    });
    graph.addEdge(sg::START, "ask");
    return wf::step(
        "sum", graph.compile(), [](const int& n) { return sg::Update<Sum>{sg::set<&Sum::total>(n)}; },
        [](const Sum& s) { return s.total; });
}

}  // namespace

TEST_CASE("a question of the tenth attempt of a workflow inside is the run's, and is answered") {
    for (const int failures : {1, 8, 9, 10}) {
        CAPTURE(failures);
        int left = failures;
        const auto inner = wf::workflow<int>("inner")
                               .then(wf::step("flaky",
                                              [&](const int& n) {
                                                  if (left-- > 0) throw std::runtime_error("not yet");
                                                  return n + 1;
                                              }))
                               .then(asksInGraph())
                               .commit({});
        const auto flow = wf::workflow<int>("w")
                              .then("outer", inner)
                              .retry({.max_attempts = 12, .initial_interval = 0ms, .jitter = false})
                              .commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
        auto run = flow.start("1", 5);
        REQUIRE((run.status == RunStatus::suspended));
        run = flow.get("1");
        REQUIRE(run.view.questions.size() == 1);
        CHECK(run.view.questions.front().path == "outer.sum");
        CHECK((run.view.steps.at("outer.flaky").status == wf::StepStatus::success));
        CHECK(flow.resume("1", {.step = "outer.sum"}, 3).result == 9);
    }
}

TEST_CASE("time travel into a workflow that sleeps continues with what it did before it slept") {
    using Kind = wf::Entry::Kind;
    using sg::Value;
    int notes = 0;
    wf::Step note{.id = "note", .execute = [&](const Value& in, wf::StepContext&) {
                      ++notes;
                      return Value(in.as<int>() * 10);
                  }};
    wf::Entry sleep{.kind = Kind::sleep, .id = "sleep", .transform = [](const wf::Scope&) { return Value(3.6e6); }};
    const wf::Step body =
        definitions::inside("body", {definitions::then(definitions::inc("add")), sleep, definitions::then(note)});
    wf::Entry loop{.kind = Kind::dowhile, .steps = {body}};
    loop.conditions.push_back([](const wf::Scope&) { return true; });
    const wf::Flow flow({.id = "w", .entries = {loop}}, {.checkpointer = std::make_shared<sg::MemorySaver>()});
    REQUIRE((flow.start("1", Value(0)).status == RunStatus::waiting));
    for (const int added : {11, 111, 1111}) {
        // The step after the sleep, and the next turn, get what has been added so far.
        const auto run = flow.timeTravel("1", "body.note", {}, {});
        REQUIRE((run.status == RunStatus::waiting));
        CHECK(run.steps.at("body.add").output->as<int>() == added);
    }
    CHECK(notes == 3);
}
