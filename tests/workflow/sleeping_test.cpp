#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/interrupt.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/testing/fault_saver.hpp>
#include <stategraph/workflow/async.hpp>

#include "tests/support/manual_clock.hpp"
#include "tests/support/savers.hpp"
#include "tests/workflow/refusal.hpp"

// Sleeps of steps, of workflows inside and of elements of a list: the run's status, and a store that fails while a
// sleep begins.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using namespace std::chrono_literals;
using sg::Value;
using sg::testing::FaultPlan;
using sg::testing::FaultSaver;
using sg::testing::SaverCalls;
using wf::RunStatus;

namespace {

const auto clock_of_test = ManualClock::make();

sg::CompileOptions storedIn(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::CompileOptions options{.checkpointer = std::move(saver)};
    options.ids = clock_of_test;
    return options;
}
void passTwoHours() { clock_of_test->passMs(2 * 3'600'000); }

const auto inc = wf::step("inc", [](const int& n) { return n + 1; });
const auto two = [](const int& n) { return std::vector<int>{n, n + 1}; };
const auto sum = [](const std::vector<int>& all) { return all.at(0) + all.at(1); };

auto napping() { return wf::workflow<int>("napping").then(inc).sleep(1h).then(wf::clone(inc, "more")).commit(); }
// A step that sleeps by itself, as a node does.
auto polling() {
    return wf::step("poll", [](const int& n, wf::Context& context) {
        context.runtime().sleepUntil(clock_of_test->now() + 1h);
        return n + 2;
    });
}

// Workflows that sleep somewhere, and return 2 for the input 0.
std::vector<wf::Flow> sleepers(const sg::CompileOptions& options) {
    const auto half = [](const int& n) { return (n - 1) / 2; };  // the elements are 0 and 1, and become 2 and 3
    return {wf::workflow<int>("in a list")
                .map(two)
                .foreach (wf::step("each", napping()))
                .map(sum)
                .map(half)
                .commit(options)
                .flow(),
            wf::workflow<int>("in a window")
                .map(two)
                .foreach (wf::step("each", napping()), {.concurrency = 2})
                .map(sum)
                .map(half)
                .commit(options)
                .flow(),
            wf::workflow<int>("in elements")
                .map(two)
                .foreach (polling(), {.concurrency = 2})
                .map(sum)
                .map(half)
                .commit(options)
                .flow(),
            wf::workflow<int>("in a step").then(polling()).commit(options).flow(),
            wf::workflow<int>("in a step inside")
                .then("inside", wf::workflow<int>("w").then(polling()).commit())
                .commit(options)
                .flow(),
            wf::workflow<int>("inside").then("inside", napping()).commit(options).flow()};
}

/// The driver of a run.
struct Driving {
    bool is_awaited = false;

    wf::RunView start(const wf::Flow& flow, const std::string& run) const {
        return is_awaited ? sg::syncWait(wf::asyncStart(flow, run, Value(0))) : flow.start(run, Value(0));
    }
    wf::RunView restart(const wf::Flow& flow, const std::string& run) const {
        return is_awaited ? sg::syncWait(wf::asyncRestart(flow, run)) : flow.restart(run);
    }
};

}  // namespace

TEST_CASE("a run is waiting wherever it sleeps: in steps, in elements of a list, and in workflows inside") {
    savers::onEachAndLater([](savers::Store& store) {
        for (const bool is_awaited : {false, true}) {
            const Driving driver{is_awaited};
            const std::string run = is_awaited ? "awaited" : "blocking";
            for (const wf::Flow& flow : sleepers(storedIn(store.open()))) {
                CAPTURE(flow.threadOf(run).view());
                CHECK((driver.start(flow, run).status == RunStatus::waiting));
                CHECK((flow.get(run).status == RunStatus::waiting));
                CHECK(flow.list({.status = {RunStatus::waiting}}).size() == (is_awaited ? 2 : 1));
                CHECK(flow.list({.status = {RunStatus::running}}).empty());
                passTwoHours();
                CHECK((flow.get(run).status == RunStatus::waiting));
                wf::RunView view = driver.restart(flow, run);
                if (view.status == RunStatus::waiting) {  // the second element of the list
                    passTwoHours();
                    view = driver.restart(flow, run);
                }
                CHECK(view.result == Value(2));
                driver.start(flow, run);  // it sleeps again, for the list of the other driver
            }
        }
    });
}

TEST_CASE("a run that sleeps in an element of a list is taken back by time travel, and cancelled") {
    const auto flow = sleepers(storedIn(std::make_shared<sg::MemorySaver>())).front();
    flow.start("1", Value(0));
    CHECK((flow.timeTravel("1", "each", {}, {}).status == RunStatus::waiting));
    CHECK((flow.cancel("1").status == RunStatus::canceled));
    CHECK((refusalOf([&] { flow.restart("1"); }) == wf::Refusal::not_active));
}

namespace {

struct Asked {
    int total = 0;
    static constexpr auto channels() { return sg::channels<&Asked::total>(); }
};

// A graph that asks, in a block with a workflow that sleeps.
wf::Flow askingBesideSleeping(const sg::CompileOptions& options) {
    sg::StateGraph<Asked> graph;
    graph.addNode("ask", [](const Asked& s, sg::Runtime& runtime) {
        return sg::set<&Asked::total>(s.total + sg::interrupt<int>(runtime, "how much?"));
    });
    graph.addEdge(sg::START, "ask");
    const auto ask = wf::step(
        "ask", graph.compile(), [](const int& n) { return sg::Update<Asked>{sg::set<&Asked::total>(n)}; },
        [](const Asked& s) { return s.total; });
    return wf::workflow<int>("w")
        .parallel(ask, wf::step("inside", napping()))
        .map([](const std::tuple<int, int>& both) { return std::get<0>(both) + std::get<1>(both); })
        .commit(options)
        .flow();
}

}  // namespace

TEST_CASE("a sleep that is over ends while a graph in the same block waits for an answer") {
    for (const bool is_awaited : {false, true}) {
        CAPTURE(is_awaited);
        const Driving driver{is_awaited};
        const auto flow = askingBesideSleeping(storedIn(std::make_shared<sg::MemorySaver>()));
        CHECK((driver.start(flow, "1").status == RunStatus::suspended));
        REQUIRE(flow.dueRuns().size() == 1);
        passTwoHours();
        const wf::RunView view = driver.restart(flow, "1");
        CHECK((view.status == RunStatus::suspended));
        CHECK((view.steps.at("inside").status == wf::StepStatus::success));
        CHECK((refusalOf([&] { driver.restart(flow, "1"); }) == wf::Refusal::not_active));
        CHECK(flow.dueRuns().empty());
        CHECK(flow.resume("1", {}, Value(5)).result == Value(7));
    }
}

namespace {

// An inner workflow that sleeps, and that fails in its first attempt.
wf::Flow retriedSleeper(const sg::CompileOptions& options) {
    wf::StepOptions retried;
    retried.retry = sg::RetryPolicy{.max_attempts = 2, .initial_interval = 0ms, .jitter = false};
    const auto failed = std::make_shared<std::atomic<bool>>(false);
    const auto fails = wf::step("fails", [failed](const int& n) {
        if (!failed->exchange(true)) throw std::runtime_error("busy");
        return n;
    });
    const auto inside = wf::workflow<int>("w").then(inc).sleep(1h).then(wf::clone(inc, "more")).then(fails).commit();
    return wf::workflow<int>("retried").sleep(1h).then(wf::step("inside", inside, retried)).commit(options).flow();
}

// Calls restart until the run has ended, as a waker does, and returns it.
wf::RunView toItsEnd(const wf::Flow& flow, const Driving& driver) {
    wf::RunView view = flow.get("1");
    for (int i = 0; i < 10 && (view.status == RunStatus::waiting || view.status == RunStatus::running); ++i) {
        passTwoHours();
        view = driver.restart(flow, "1");
    }
    return view;
}

}  // namespace

TEST_CASE("a store that fails while a sleep begins ends the call and not the run, which is restarted") {
    const auto makers = {std::function([](const sg::CompileOptions& options) { return sleepers(options).at(0); }),
                         std::function([](const sg::CompileOptions& options) { return sleepers(options).at(1); }),
                         std::function([](const sg::CompileOptions& options) { return sleepers(options).at(5); }),
                         std::function(retriedSleeper)};
    for (const auto& make : makers) {
        for (const bool is_awaited : {false, true}) {
            for (const bool after_effect : {false, true}) {
                const Driving driver{is_awaited};
                bool has_failed = true;
                for (std::size_t nth = 1; has_failed; ++nth) {
                    CAPTURE(nth);
                    const auto saver = std::make_shared<FaultSaver>(std::make_shared<sg::MemorySaver>());
                    const wf::Flow flow = make(storedIn(saver));
                    CAPTURE(flow.threadOf("1").view());
                    saver->arm({.fail_at = nth, .once = true, .after_effect = after_effect, .calls = SaverCalls::put});
                    has_failed = false;
                    const auto surviving = [&](auto call) {
                        try {
                            call();
                        } catch (const sg::SaverError&) {
                            has_failed = true;
                        }
                    };
                    surviving([&] { driver.start(flow, "1"); });
                    if (flow.get("1").status == RunStatus::pending) driver.start(flow, "1");
                    surviving([&] { toItsEnd(flow, driver); });
                    CHECK(toItsEnd(flow, driver).result == Value(2));
                }
            }
        }
    }
}

TEST_CASE("a restart that another process overtakes is refused as already claimed, also while a sleep begins") {
    for (const bool is_awaited : {false, true}) {
        for (const bool is_inside : {false, true}) {
            bool is_refused = true;
            for (std::size_t nth = 1; is_refused; ++nth) {
                CAPTURE(nth);
                const auto saver = std::make_shared<FaultSaver>(std::make_shared<sg::MemorySaver>());
                const auto naps = wf::workflow<int>("w").sleep(1h).then(inc).sleep(1h, "again").commit(storedIn(saver));
                const auto outer = wf::workflow<int>("o").then("inside", naps).commit(storedIn(saver));
                const wf::Flow flow = is_inside ? outer.flow() : naps.flow();
                flow.start("1", Value(0));
                passTwoHours();
                const auto overtake = [] { throw sg::ConcurrentUpdateError("another run committed first"); };
                saver->arm({.fail_at = nth, .calls = SaverCalls::put, .raise = overtake});
                const auto why = refusalOf([&] { Driving{is_awaited}.restart(flow, "1"); });
                is_refused = saver->failures() > 0;
                CHECK((why == wf::Refusal::already_claimed) == is_refused);
            }
        }
    }
}
