#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/support/savers.hpp"

// Typed workflows as members of blocks and bodies of loops and lists, and the names of maps and sleeps.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using sg::Value;
using wf::RunStatus;
using namespace std::chrono_literals;

namespace {

const auto inc = wf::step("inc", [](const int& n) { return n + 1; });
const auto asks = wf::step("asks", [](const int& n, wf::Suspending<std::string, int>& context) {
    return n + context.suspend("how much?", {"label " + std::to_string(n)});
});

wf::Workflow<int, int> asking() { return wf::workflow<int>("asking").then(inc).then(asks).commit(); }

}  // namespace

TEST_CASE("workflows are members of a parallel block and of a branch, and are answered by their paths") {
    savers::onEach([](savers::Store& store) {
        const auto left = wf::step("left", asking());
        const auto right = wf::clone(left, "right");
        const auto always = [](const int&) { return true; };
        const auto never = [](const int&) { return false; };
        const auto make = [&] {
            return wf::workflow<int>("w")
                .parallel(left, right)
                .map([](const std::tuple<int, int>& both) { return std::get<0>(both) + std::get<1>(both); }, "sum")
                .branch(wf::when(always, wf::step("chosen", asking())), wf::when(never, wf::step("not", asking())))
                .commit({.checkpointer = store.open()});
        };
        auto run = make().start("1", 1);
        CHECK(run.view.suspended == std::vector<std::vector<std::string>>{{"left", "asks"}, {"right", "asks"}});
        run = make().resume("1", {.step = "right.asks"}, Value(10));
        CHECK(run.view.suspended == std::vector<std::vector<std::string>>{{"left", "asks"}});
        run = make().resume("1", {.step = "left"}, Value(20));
        CHECK(run.view.steps.at("sum").output == Value(12 + 22));
        CHECK(run.view.suspended == std::vector<std::vector<std::string>>{{"chosen", "asks"}});
        run = make().resume("1", {}, Value(1));
        CHECK((run.status == RunStatus::success));
        CHECK(std::get<0>(run.result.value()) == 36);
        CHECK_FALSE(std::get<1>(run.result.value()));
        CHECK(make().timeTravel("1", left, 100).view.suspended.size() == 1);
    });
}

TEST_CASE("a workflow is the body of a loop and of a foreach, and another step reads its output") {
    savers::onEach([](savers::Store& store) {
        const auto each = wf::step("each", asking());
        const auto loop = wf::step("loop", wf::workflow<int>("twice").then(inc).then(wf::clone(inc, "more")).commit());
        const auto reads = wf::step("reads", [&](const int& n, wf::Context& context) {
            return n + static_cast<int>(context.result(loop).value());
        });
        const auto flow = wf::workflow<std::vector<int>>("w")
                              .foreach (each, {.concurrency = 2})
                              .map([](const std::vector<int>& all) { return all.at(0) + all.at(1); })
                              .dountil(loop, [](const int&, const wf::Scope& scope) { return scope.iteration() == 3; })
                              .then(reads)
                              .commit({.checkpointer = store.open()});
        auto run = flow.start("1", {1, 2});
        CHECK(run.view.labels.at("label 3").index == 1);
        run = flow.resume("1", {.label = "label 3"}, Value(1));
        CHECK((run.status == RunStatus::suspended));
        run = flow.resume("1", {.step = "each", .index = 0}, Value(1));
        CHECK(run.view.steps.at("loop").iteration == 3);
        CHECK(run.result == 2 * (3 + 4 + 6));
    });
}

TEST_CASE("a workflow as a step has the options of steps") {
    std::atomic<int> tries = 0;
    const auto flaky = wf::step("flaky", [&](const int& n) {
        if (++tries < 3) throw std::runtime_error("not yet");
        return n;
    });
    const auto inner = wf::workflow<int>("inner").then(flaky).commit();
    const sg::RetryPolicy thrice{.max_attempts = 3, .initial_interval = {}};
    const auto step = wf::step("inner", inner, {.retry = thrice, .description = "tries again"});
    const auto flow = wf::workflow<int>("w").then(step).commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK(flow.start("1", 1).result == 1);
    CHECK(tries == 3);
    CHECK(flow.flow().snapshot("1").find("tries again") != std::string::npos);
}

TEST_CASE("maps and sleeps have the names that they are given, and time travel finds a map by its name") {
    const auto flow = wf::workflow<int>("w")
                          .map([](const int& n) { return n * 2; }, "double")
                          .sleep(0ms, "nap")
                          .map([](const int& n, const wf::Scope& scope) { return n + scope.init().as<int>(); })
                          .commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK(flow.start("1", 1).result == 3);
    CHECK(flow.get("1").view.path == std::vector<std::string>{"double", "nap", "mapping_w_2"});
    CHECK(flow.flow().timeTravel("1", "double", Value(10), {}).result == Value(30));
    CHECK_THROWS_AS(wf::workflow<int>("w").sleep(0ms, "nap").sleep(0ms, "nap").commit(), sg::InvalidGraphError);
}

TEST_CASE("a sleep computes its end from the value, the scope and the state") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto passed = std::chrono::system_clock::now() - 1h;
        const auto flow =
            wf::workflow<int>("w")
                .sleep(
                    [](const int& n, const wf::Scope& scope) { return std::chrono::hours(n + scope.init().as<int>()); })
                .sleepUntil([&](const int&) { return passed; }, "already")
                .sleepUntil([&](const int& n, const wf::Scope& scope) {
                    return std::chrono::system_clock::now() + std::chrono::hours(n + scope.init().as<int>());
                })
                .then(inc)
                .commit({.checkpointer = saver});
        CHECK(flow.start("none", 0).result == 1);
        auto run = flow.start("some", 1);
        CHECK((run.status == RunStatus::waiting));
        const auto due = flow.flow().dueRuns();
        REQUIRE(due.size() == 1);
        CHECK(due.front().at.value() > passed + 2h);
        const auto throws = wf::workflow<int>("t")
                                .sleepUntil([](const int&) -> std::chrono::system_clock::time_point {
                                    throw std::runtime_error("no clock");
                                })
                                .commit({.checkpointer = saver})
                                .start("1", 1);
        CHECK((throws.status == RunStatus::failed));
        CHECK(throws.error == "no clock");
    });
}
