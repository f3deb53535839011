#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/run_control.hpp>
#include <stategraph/testing/fault_saver.hpp>
#include <stategraph/workflow/async.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/enough_time.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/hand_home.hpp"
#include "workflow/plan.hpp"

// Steps that are coroutines behave like other steps in every respect, with every driver.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using wf::RunStatus;
using namespace std::chrono_literals;
using graphs::Strings;

namespace {

sg::CompileOptions stored(std::shared_ptr<sg::BaseCheckpointSaver> saver = std::make_shared<sg::MemorySaver>()) {
    return {.checkpointer = std::move(saver)};
}

const auto adds = [](int more) {
    return wf::step("adds", [more](const int& n) -> sg::Task<int> {
        co_await sg::sleepFor(1ms);
        co_return n + more;
    });
};

/// Sets the state, waits, and asks if it has no answer.
const auto asks = [](graphs::Log& log) {
    return wf::step("asks", [&log](const int& n, wf::Suspending<std::string, int>& context) -> sg::Task<int> {
        log.add(context.resumeData() ? "answered" : "asks");
        context.setState("seen", sg::Value(n));
        co_await sg::sleepFor(1ms);
        const int answer = context.suspend("how many?", {"many"});
        co_return n + answer;
    });
};

}  // namespace

TEST_CASE("a coroutine is a step: it waits, asks, is resumed at its top, and sets the state") {
    graphs::Log log;
    const auto asking = asks(log);
    const auto flow =
        wf::workflow<int>("w").then(adds(1)).then(asking).then(wf::clone(adds(10), "last")).commit(stored());
    auto run = flow.start("1", 1);
    REQUIRE((run.status == RunStatus::suspended));
    CHECK(run.view.questions.at(0).payload == sg::Value("how many?"));
    CHECK(run.view.state.at("seen") == sg::Value(2));
    run = flow.resume("1", asking, 100);
    CHECK(run.result == 112);
    CHECK(log.take() == Strings{"asks", "answered"});
}

TEST_CASE("a coroutine returns nothing, bails, cancels, or takes a Runtime, as other steps do") {
    const auto nothing = wf::step("nothing", [](const int&) -> sg::Task<> { co_return; });
    CHECK((wf::workflow<int>("w").then(nothing).commit(stored()).start("1", 1).status == RunStatus::success));

    const auto bails = wf::step("bails", [](const int& n, wf::Context& context) -> sg::Task<int> {
        co_await sg::sleepFor(1ms);
        context.bail(n + 1);
    });
    const auto bailed = wf::workflow<int>("w").then(bails).then(adds(100)).commit(stored()).start("1", 1);
    CHECK(bailed.result == 2);
    CHECK_FALSE(bailed.view.steps.contains("adds"));

    const auto cancels = wf::step("cancels", [](const int& n, wf::Context& context) -> sg::Task<int> {
        context.cancel();
        co_return n;
    });
    CHECK((wf::workflow<int>("w").then(cancels).then(adds(1)).commit(stored()).start("1", 1).status ==
           RunStatus::canceled));

    const auto node = wf::step("node", [](const int& n, sg::Runtime& runtime) -> sg::Task<int> {
        co_await sg::sleepFor(runtime, 1ms);
        co_return n + runtime.attempt();
    });
    CHECK(wf::workflow<int>("w").then(node).commit(stored()).start("1", 1).result == 2);
}

TEST_CASE("a coroutine that fails is retried, and its failures leave no trace of the state") {
    int executed = 0;
    const auto fails = wf::step("fails", [&](const int& n, wf::Context& context) -> sg::Task<int> {
        context.setState("attempt " + std::to_string(context.attempt()), sg::Value(true));
        co_await sg::sleepFor(1ms);
        if (++executed < 3) throw std::runtime_error("no");
        co_return n;
    });
    const sg::RetryPolicy thrice{.max_attempts = 3, .initial_interval = 0ms, .jitter = false};
    const auto run = wf::workflow<int>("w").then(fails).retry(thrice).commit(stored()).start("1", 1);
    CHECK((run.status == RunStatus::success));
    CHECK(run.view.state.size() == 1);
    CHECK(run.view.steps.at("fails").attempts == 3);

    const auto never = wf::step("never", [&](const int&) -> sg::Task<int> {
        ++executed;
        throw wf::PermanentError("never");
        co_return 0;
    });
    executed = 0;
    const auto failed = wf::workflow<int>("w").then(never).retry(thrice).commit(stored()).start("1", 1);
    CHECK(failed.error == "never");
    CHECK(executed == 1);
}

TEST_CASE("an awaited run runs the coroutines of a block and of a list on one thread, at the same time") {
    std::atomic<int> under_way = 0;
    std::atomic<int> most = 0;
    std::thread::id thread = std::this_thread::get_id();
    std::chrono::milliseconds pause = 0ms;
    const auto waits = wf::step("waits", [&](const int& n) -> sg::Task<int> {
        CHECK((std::this_thread::get_id() == thread));
        most = std::max<int>(most, ++under_way);
        co_await sg::sleepFor(pause);
        --under_way;
        co_return n * 2;
    });
    const auto flow = wf::workflow<int>("w")
                          .parallel(waits, wf::clone(waits, "b"))
                          .map([](const std::tuple<int, int>& both) {
                              return std::vector<int>{std::get<0>(both), std::get<1>(both), 1, 2, 3, 4};
                          })
                          .foreach (wf::clone(waits, "each"), {.concurrency = 3})
                          .commit(stored());
    CHECK(withEnoughTime(20ms, [&](std::chrono::milliseconds limit) {
        pause = limit;
        most = 0;
        auto task = wf::asyncStart(flow, "1", 1);
        CHECK(sg::syncWait(std::move(task)).result == std::vector<int>{4, 4, 2, 4, 6, 8});
        CHECK(most <= 3);
        return most == 3;
    }));
}

TEST_CASE("coroutines in loops, in lists one by one, and in workflows inside") {
    const auto inner = wf::workflow<int>("i").then(adds(1)).commit();
    const auto flow = wf::workflow<int>("w")
                          .dowhile(adds(3), [](const int& n) { return n < 10; })
                          .map([](const int& n) {
                              return std::vector<int>{n, n + 1};
                          })
                          .foreach (wf::clone(adds(10), "each"))
                          .map([](const std::vector<int>& all) { return all.at(0) * 100 + all.at(1); })
                          .then("inner", inner)
                          .commit(stored());
    CHECK(flow.start("1", 1).result == 2022);
    CHECK(sg::syncWait(wf::asyncStart(flow, "2", 1)).result == 2022);
}

TEST_CASE("a coroutine that takes longer than it may has failed, and one whose run is stopped is not waited for") {
    const auto slow = wf::step("slow",
                               [](const int& n, sg::Runtime& runtime) -> sg::Task<int> {
                                   co_await sg::sleepFor(runtime, 1h);
                                   co_return n;
                               },
                               {.timeout = 20ms});
    CHECK((wf::workflow<int>("w").then(slow).commit(stored()).start("1", 1).status == RunStatus::failed));

    graphs::Signal began;
    const auto endless = wf::step("endless", [&](const int& n, sg::Runtime& runtime) -> sg::Task<int> {
        began.give();
        co_await sg::sleepFor(runtime, 1h);
        co_return n;
    });
    wf::RunOptions options;
    options.control = std::make_shared<sg::RunControl>();
    std::jthread stops([&] {
        began.await();
        options.control->requestStop();
    });
    const auto flow = wf::workflow<int>("w").then(endless).commit(stored());
    CHECK((sg::syncWait(wf::asyncStart(flow, "1", 1, options)).status == RunStatus::canceled));
}

TEST_CASE("a run of coroutines whose task is destroyed after any piece of its work can be restarted") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto flow = wf::workflow<int>("w")
                          .parallel(adds(1), wf::clone(adds(2), "b"))
                          .map([](const std::tuple<int, int>& both) { return std::get<0>(both) + std::get<1>(both); })
                          .then(wf::clone(adds(10), "last"))
                          .commit(stored(saver));
    bool is_over = false;
    for (int pieces = 0; !is_over; ++pieces) {
        CAPTURE(pieces);
        const std::string id = std::to_string(pieces);
        HandHome home;
        {
            const auto task = wf::asyncStart(flow, id, 1);
            const auto ended = [](void* over) { *static_cast<bool*>(over) = true; };
            if (pieces > 0) task.handle().promise().startWith(task.handle(), ended, &is_over, home.home());
            for (int i = 1; i < pieces && !is_over; ++i) (void)home.runOne(20ms);
        }
        auto run = flow.get(id);
        if (run.status == RunStatus::pending) {
            run = flow.start(id, 1);
        } else if (run.status != RunStatus::success) {
            run = flow.restart(id);
        }
        CHECK(run.result == 15);
    }
}

namespace {

/// The graph of a workflow, for all drivers.
struct Graph {
    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();
    graphs::Log log;
    wf::Workflow<int, int> flow = make();
    std::shared_ptr<const wf::Plan> plan = wf::makePlan(*flow.definition(), stored(saver));
    sg::CompiledGraph<wf::State> app = wf::compile(plan, stored(saver));

    wf::Workflow<int, int> make() {
        return wf::workflow<int>("w")
            .then(adds(1))
            .parallel(asks(log), wf::clone(adds(10), "beside"))
            .map([](const std::tuple<int, int>& both) { return std::get<0>(both) + std::get<1>(both); })
            .commit(stored(saver));
    }
    static wf::State begin() {
        wf::State state;
        state.input = sg::Value(1);
        state.data = sg::Value(1);
        return state;
    }
    sg::RunConfig config(const std::string& run_id) const {
        return {.thread_id = "w/" + run_id, .context = std::make_shared<const wf::Session>()};
    }
};

}  // namespace

TEST_CASE("every driver runs coroutines as steps, and leaves a run that can be resumed where it is abandoned") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        Graph graph;
        const auto outcome = driver.run(graph.app, wf::beginningOf(Graph::begin()), graph.config("1"));
        REQUIRE(outcome.what() == "");
        CHECK((outcome.status == sg::Status::interrupted));
        CHECK(graph.flow.resume("1", wf::ResumeTarget{.label = "many"}, sg::Value(100)).result == 114);
        if (!driver.canAbandon()) continue;
        for (std::size_t steps = 0; steps < 12; ++steps) {
            CAPTURE(steps);
            const std::string id = "left " + std::to_string(steps);
            driver.abandon(graph.app, wf::beginningOf(Graph::begin()), graph.config(id), {.steps = steps});
            auto status = graph.flow.get(id).status;
            if (status == RunStatus::pending) status = graph.flow.start(id, 1).status;
            if (status == RunStatus::running) status = graph.flow.restart(id).status;
            CHECK((status == RunStatus::suspended));
            CHECK(graph.flow.resume(id, wf::ResumeTarget{.label = "many"}, sg::Value(100)).result == 114);
        }
    }
}

TEST_CASE("any put of a run of coroutines may fail, and the run is continued") {
    for (std::size_t fail_at = 1;; ++fail_at) {
        CAPTURE(fail_at);
        const auto faults = std::make_shared<sg::testing::FaultSaver>(
            std::make_shared<sg::MemorySaver>(),
            sg::testing::FaultPlan{.fail_at = fail_at, .calls = sg::testing::SaverCalls::put});
        const auto flow =
            wf::workflow<int>("w")
                .parallel(adds(1), wf::clone(adds(2), "b"))
                .map([](const std::tuple<int, int>& both) { return std::get<0>(both) + std::get<1>(both); })
                .then(wf::clone(adds(10), "last"))
                .commit(stored(faults));
        const bool awaited = fail_at % 2 == 0;
        try {
            awaited ? sg::syncWait(wf::asyncStart(flow, "1", 1)) : flow.start("1", 1);
        } catch (const sg::Error&) {
        }
        auto run = flow.get("1");
        if (run.status == RunStatus::pending) run = flow.start("1", 1);
        if (run.status == RunStatus::running) run = flow.restart("1");
        CHECK(run.result == 15);
        if (faults->failures() == 0) break;
    }
}
