#include <chrono>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

namespace sg = stategraph;
namespace wf = stategraph::workflow;
using wf::RunStatus;

namespace {

sg::CompileOptions stored() { return {.checkpointer = std::make_shared<sg::MemorySaver>()}; }
const auto inc = wf::step("inc", [](const int& n) { return n + 1; });

}  // namespace

TEST_CASE("a step that catches everything is suspended all the same") {
    const auto greedy = wf::step("greedy", [](const int& n, wf::Suspending<std::string, int>& context) {
        try {
            return n + context.suspend("how much?");
        } catch (...) {
            return -1;
        }
    });
    const auto flow = wf::workflow<int>("w").then(greedy).then(inc).commit(stored());
    auto run = flow.start("1", 1);
    REQUIRE((run.status == RunStatus::suspended));
    CHECK(run.view.questions.at(0).payload.as<std::string>() == "how much?");
    CHECK(flow.resume("1", greedy, 5).result == 7);
}

TEST_CASE("a step that catches its bail has bailed all the same") {
    const auto greedy = wf::step("greedy", [](const int& n, wf::Context& context) {
        try {
            context.bail(n);
        } catch (...) {
        }
        return -1;
    });
    const auto run = wf::workflow<int>("w").then(greedy).then(inc).commit(stored()).start("1", 5);
    CHECK((run.status == RunStatus::success));
    CHECK(run.result == 5);
    CHECK_FALSE(run.view.steps.contains("inc"));
}

TEST_CASE("what is no std::exception fails a step as well, and so it does a condition, a map and a sleep") {
    const auto throws = wf::step("throws", [](const int&) -> int { throw 42; });
    CHECK((wf::workflow<int>("w").then(throws).commit(stored()).start("1", 1).status == RunStatus::failed));
    CHECK((wf::workflow<int>("w").map([](const int&) -> int { throw 42; }).commit(stored()).start("1", 1).status ==
           RunStatus::failed));
    const auto never = [](const int&) -> bool { throw 42; };
    CHECK((wf::workflow<int>("w").branch(wf::when(never, inc)).commit(stored()).start("1", 1).status ==
           RunStatus::failed));
    CHECK((wf::workflow<int>("w").dowhile(inc, never).commit(stored()).start("1", 1).status == RunStatus::failed));
    const auto sleep = [](const int&) -> std::chrono::milliseconds { throw 42; };
    CHECK((wf::workflow<int>("w").sleep(sleep).commit(stored()).start("1", 1).status == RunStatus::failed));
}

TEST_CASE("a watcher that throws harms neither the run nor what is stored of it") {
    const auto flow =
        wf::workflow<int>("w").then(inc).parallel(wf::clone(inc, "a"), wf::clone(inc, "b")).commit(stored());
    wf::RunOptions options;
    options.on_event = [](const wf::RunEvent&) { throw std::runtime_error("a watcher's"); };
    const auto run = flow.start("1", 1, options);
    CHECK((run.status == RunStatus::success));
    CHECK(run.result == std::tuple(3, 3));
    CHECK(run.view.steps.at("inc").attempts == 1);
}

TEST_CASE("a watcher may look at the run and cancel it") {
    const auto flow = wf::workflow<int>("w").then(inc).then(wf::clone(inc, "next")).commit(stored());
    wf::RunOptions options;
    options.on_event = [&](const wf::RunEvent& event) {
        if (event.kind == wf::RunEvent::Kind::step_result) flow.cancel("1");
    };
    CHECK((flow.start("1", 1, options).status == RunStatus::canceled));
    CHECK_FALSE(flow.get("1").view.steps.contains("next"));
}

TEST_CASE("two workflows cannot have a run with the same thread") {
    CHECK_THROWS_AS(wf::workflow<int>("a/b").then(inc).commit(stored()), sg::InvalidGraphError);
    const auto flow = wf::workflow<int>("a").then(inc).commit(stored());
    CHECK(flow.start("b/c", 1).result == 2);
    CHECK((flow.get("b/c").status == RunStatus::success));
    CHECK(flow.flow().list().at(0).run_id == "b/c");
}

TEST_CASE("a sleep of any length can be stored") {
    for (const double ms : {1e300, 1e15, -1e300}) {
        CAPTURE(ms);
        wf::Definition definition{.id = "w"};
        definition.entries.push_back({.kind = wf::Entry::Kind::sleep,
                                      .id = "sleep",
                                      .transform = [ms](const wf::Scope&) { return sg::Value(ms); }});
        const wf::Flow flow(definition, stored());
        CHECK((flow.start("1", 1).status == (ms > 0 ? RunStatus::waiting : RunStatus::success)));
    }
}

TEST_CASE("a sleep of a duration or until a time at the end of its range neither wraps nor ends at once") {
    const auto statusOf = [](auto chain) { return std::move(chain).commit(stored()).start("1", 1).status; };
    const auto chain = [] { return wf::workflow<int>("w"); };
    using Time = std::chrono::system_clock::time_point;
    using std::chrono::hours;
    CHECK((statusOf(chain().sleep([](const int&) { return hours::max(); })) == RunStatus::waiting));
    CHECK((statusOf(chain().sleep([](const int&) { return hours::min(); })) == RunStatus::success));
    CHECK((statusOf(chain().sleep([](const int&) { return std::chrono::duration<double>(1e300); })) ==
           RunStatus::waiting));
    CHECK((statusOf(chain().sleep([](const int&) { return std::chrono::duration<double>(std::nan("")); })) ==
           RunStatus::failed));
    CHECK((statusOf(chain().sleepUntil(Time::max())) == RunStatus::waiting));
    CHECK((statusOf(chain().sleepUntil(Time::min())) == RunStatus::success));
    CHECK((statusOf(chain().sleepUntil([](const int&) { return Time::min(); })) == RunStatus::success));
    CHECK((statusOf(chain().sleepUntil([](const int&) { return Time::max(); })) == RunStatus::waiting));
}

TEST_CASE("a workflow that contains itself, or is nested too deeply to be stored, is refused") {
    const auto around = [](const std::shared_ptr<const wf::Definition>& inner) {
        const auto outer = std::make_shared<wf::Definition>();
        outer->id = "w";
        outer->entries.push_back({.steps = {{.id = "inner", .workflow = inner}}});
        return outer;
    };
    auto deep = std::make_shared<wf::Definition>();
    deep->id = "w";
    deep->entries.push_back({.steps = {inc.step}});
    for (int i = 0; i < 80; ++i) deep = around(deep);
    CHECK((wf::Flow(*deep, stored()).start("1", sg::Value(1)).status == RunStatus::success));
    for (int i = 0; i < 1000; ++i) deep = around(deep);
    CHECK_THROWS_WITH_AS(wf::Flow(*deep, stored()), doctest::Contains("inside 100 others"), sg::InvalidGraphError);

    const auto itself = around(nullptr);
    itself->entries[0].steps[0].workflow = itself;
    CHECK_THROWS_WITH_AS(wf::Flow(*itself, stored()), doctest::Contains("inside itself"), sg::InvalidGraphError);
    itself->entries.clear();  // ends the cycle of owners
}

TEST_CASE("a snapshot is JSON even if an error is not UTF-8") {
    const auto fails = wf::step("fails", [](const int&) -> int { throw std::runtime_error("caf\xe9 is closed"); });
    const auto flow = wf::workflow<int>("w").then(fails).commit(stored());
    CHECK(flow.start("1", 1).error == "caf\xe9 is closed");
    CHECK(flow.get("1").error == "caf\xe9 is closed");
    const std::string snapshot = flow.flow().snapshot("1");
    CHECK(snapshot.find("\"error\":{\"message\":\"caf\xef\xbf\xbd is closed\"}") != std::string::npos);
    CHECK(snapshot.find('\xe9') == std::string::npos);
}
