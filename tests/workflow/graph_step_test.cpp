#include <doctest/doctest.h>

#include <stategraph/interrupt.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

namespace sg = stategraph;
namespace wf = stategraph::workflow;
using wf::RunStatus;

namespace {

struct Sum {
    int total = 0;
    static constexpr auto channels() { return sg::channels<&Sum::total>(); }
};

// Doubles its input, asks for a number, and adds it.
sg::CompiledGraph<Sum> asking() {
    sg::StateGraph<Sum> graph;
    graph.addNode("double", [](const Sum& s) { return sg::set<&Sum::total>(2 * s.total); });
    graph.addNode("ask", [](const Sum& s, sg::Runtime& runtime) {
        return sg::set<&Sum::total>(s.total + sg::interrupt<int>(runtime, "how much?"));
    });
    graph.addEdge(sg::START, "double").addEdge("double", "ask");
    return graph.compile();
}

auto sum(std::string id) {
    return wf::step(
        std::move(id), asking(), [](const int& n) { return sg::Update<Sum>{sg::set<&Sum::total>(n)}; },
        [](const Sum& s) { return s.total; });
}

}  // namespace

TEST_CASE("a compiled graph is a step, and what it asks is a question of the run") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto make = [&] {
        return wf::workflow<int>("w")
            .then(sum("sum"))
            .then(wf::step("inc", [](const int& n) { return n + 1; }))
            .commit({.checkpointer = saver});
    };
    auto run = make().start("1", 5);
    REQUIRE((run.status == RunStatus::suspended));
    REQUIRE(run.view.questions.size() == 1);
    CHECK(run.view.questions.front().path == "sum");
    CHECK(run.view.questions.front().payload.as<std::string>() == "how much?");
    CHECK((run.view.steps.at("sum").status == wf::StepStatus::suspended));
    run = make().get("1");
    REQUIRE(run.view.questions.size() == 1);
    SUBCASE("answered by its id") {
        run = make().resume("1", {.question = run.view.questions.front().id}, 3);
        CHECK(run.result == 14);
    }
    SUBCASE("answered by the step's id") {
        run = make().resume("1", {.step = "sum"}, 3);
        CHECK(run.result == 14);
    }
    SUBCASE("answered as the only one") {
        run = make().resume("1", wf::ResumeTarget{}, 3);
        CHECK(run.result == 14);
        CHECK_THROWS_AS(make().resume("1", wf::ResumeTarget{}, 3), wf::RefusedError);
    }
    SUBCASE("cancelled") {
        CHECK((make().cancel("1").status == RunStatus::canceled));
        CHECK_THROWS_AS(make().resume("1", {.step = "sum"}, 3), wf::RefusedError);
    }
}

TEST_CASE("graphs of one block ask independently") {
    const auto flow = wf::workflow<int>("w")
                          .parallel(sum("a"), sum("b"))
                          .commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    auto run = flow.start("1", 1);
    REQUIRE(run.view.questions.size() == 2);
    CHECK_THROWS_AS(flow.resume("1", wf::ResumeTarget{}, 3), wf::RefusedError);
    run = flow.resume("1", {.step = "b"}, 10);
    REQUIRE((run.status == RunStatus::suspended));
    REQUIRE(run.view.questions.size() == 1);
    CHECK(run.view.questions.front().path == "a");
    run = flow.resume("1", {.step = "a"}, 20);
    CHECK(run.result == std::tuple(22, 12));
}

TEST_CASE("a graph inside a workflow inside another asks with its whole path, and one in a foreach with its element") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto inner = wf::workflow<int>("inner").then(sum("sum")).commit({});
    const auto outer = wf::workflow<int>("outer").then("inside", inner).commit({.checkpointer = saver});
    auto run = outer.start("1", 1);
    REQUIRE(run.view.questions.size() == 1);
    CHECK(run.view.questions.front().path == "inside.sum");
    CHECK(outer.resume("1", {.step = "inside.sum"}, 5).result == 7);

    const auto each =
        wf::workflow<std::vector<int>>("each").foreach (sum("sum"), {.concurrency = 2}).commit({.checkpointer = saver});
    auto many = each.start("1", {1, 2});
    REQUIRE(many.view.questions.size() == 2);
    CHECK(many.view.questions.at(1).path == "sum[1]");
    CHECK((each.resume("1", {.step = "sum", .index = 1}, 10).status == RunStatus::suspended));
    CHECK(each.resume("1", {.step = "sum"}, 20).result == std::vector{22, 14});
}

TEST_CASE("an answer that the graph does not take is refused, and the question stays open") {
    const auto flow =
        wf::workflow<int>("w").then(sum("sum")).commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    flow.start("1", 1);
    try {
        flow.resume("1", {.step = "sum"}, "many");
        FAIL("it was taken");
    } catch (const wf::RefusedError& error) {
        CHECK((error.why() == wf::Refusal::invalid_resume_data));
    }
    CHECK((flow.get("1").status == RunStatus::suspended));
    CHECK(flow.resume("1", {.step = "sum"}, 1).result == 3);
}
