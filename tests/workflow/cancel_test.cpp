#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/testing/fault_saver.hpp>
#include <stategraph/unfinished.hpp>
#include <stategraph/workflow/async.hpp>

#include "tests/support/door.hpp"
#include "tests/support/hand_home.hpp"
#include "tests/support/meanwhile.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/until.hpp"

// A run that is cancelled while a step executes: what is stored then, and how another process continues.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using wf::RunStatus;
using wf::StepStatus;
using namespace std::chrono_literals;

namespace {

/// Flows whose step `work` calls a function of the test, and a second process with the same flow.
struct Cancelled {
    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();
    std::function<void()> work = [] {};
    std::atomic<int> later = 0;
    wf::TypedStep<int, int> step = wf::step("work", [this](const int& n) {
        work();
        return n + 1;
    });
    wf::TypedStep<int, int> next = wf::step("next", [this](const int& n) {
        ++later;
        return n;
    });

    /// Checks what another process would read if this one died now.
    void checkStored(const wf::Flow& flow, const std::string& run_id) const {
        const wf::RunView view = flow.get(run_id);
        CHECK((view.status == RunStatus::canceled));
        CHECK_THROWS_AS(flow.restart(run_id), wf::RefusedError);
        CHECK_THROWS_AS(flow.resume(run_id, {.step = "work"}, sg::Value(1)), wf::RefusedError);
        CHECK(flow.dueRuns().empty());
        CHECK(saver->unfinishedThreads().empty());
        CHECK(flow.list({.status = {RunStatus::canceled}}).size() == 1);
    }
    template <class Make>
    void check(Make make) {
        const auto flow = make(std::static_pointer_cast<sg::BaseCheckpointSaver>(saver));
        const auto elsewhere = make(std::make_shared<Door>(saver));
        std::atomic<int> checked = 0;
        work = [&] {
            if (checked++ > 0) return;
            CHECK((flow.cancel("1").status == RunStatus::canceled));
            checkStored(elsewhere.flow(), "1");
        };
        const auto run = flow.start("1", 1);
        CHECK(checked > 0);
        CHECK((run.status == RunStatus::canceled));
        checkStored(elsewhere.flow(), "1");
        CHECK(later == 0);
    }
};

}  // namespace

TEST_CASE("a cancel is stored while a step executes: for another process the run is canceled at once") {
    Cancelled run;
    SUBCASE("a step") {
        run.check([&](auto saver) {
            return wf::workflow<int>("w").then(run.step).then(run.next).commit({.checkpointer = saver});
        });
    }
    SUBCASE("the last step") {
        run.check([&](auto saver) { return wf::workflow<int>("w").then(run.step).commit({.checkpointer = saver}); });
    }
    SUBCASE("a member of a block") {
        run.check([&](auto saver) {
            return wf::workflow<int>("w")
                .parallel(run.step, wf::clone(run.step, "beside"))
                .map([](const std::tuple<int, int>& both) { return std::get<0>(both); })
                .then(run.next)
                .commit({.checkpointer = saver});
        });
    }
    SUBCASE("the body of a loop") {
        run.check([&](auto saver) {
            return wf::workflow<int>("w")
                .dowhile(run.step, [](const int& n) { return n < 9; })
                .then(run.next)
                .commit({.checkpointer = saver});
        });
    }
    SUBCASE("elements of a list") {
        run.check([&](auto saver) {
            return wf::workflow<int>("w")
                .map([](const int&) {
                    return std::vector<int>{1, 2, 3};
                })
                .foreach (run.step, {.concurrency = 2})
                .map([](const std::vector<int>& all) { return all.at(0); })
                .then(run.next)
                .commit({.checkpointer = saver});
        });
    }
    SUBCASE("a step of a workflow inside") {
        run.check([&](auto saver) {
            const auto inner = wf::workflow<int>("inner").then(run.step).then(run.next).commit();
            return wf::workflow<int>("w").then("inner", inner).commit({.checkpointer = saver});
        });
    }
}

TEST_CASE("the step under way ends, and its output is kept") {
    Cancelled run;
    const auto flow = wf::workflow<int>("w").then(run.step).then(run.next).commit({.checkpointer = run.saver});
    run.work = [&] { flow.cancel("1"); };
    flow.start("1", 1);
    const auto stored = flow.get("1");
    CHECK((stored.view.steps.at("work").status == StepStatus::success));
    CHECK(stored.view.steps.at("work").output == sg::Value(2));
    CHECK_FALSE(stored.view.steps.contains("next"));
}

TEST_CASE("a cancelled run whose step fails, or whose process dies, is not restarted, and can be started anew") {
    Cancelled run;
    const auto flow = wf::workflow<int>("w").then(run.step).then(run.next).commit({.checkpointer = run.saver});
    run.work = [&] {
        flow.cancel("1");
        throw std::runtime_error("no");
    };
    CHECK((flow.start("1", 1).status == RunStatus::failed));  // equal to a step that fails without a cancel
    // Simulates a process that dies: its task is destroyed before the step's thread returns.
    HandHome home;
    run.work = [&] { flow.cancel("2"); };
    {
        const auto task = wf::asyncStart(flow.flow(), "2", sg::Value(1));
        bool is_over = false;
        task.handle().promise().startWith(
            task.handle(), [](void* over) { *static_cast<bool*>(over) = true; }, &is_over, home.home());
    }
    const auto status = flow.get("2").status;
    CHECK((status == RunStatus::canceled || status == RunStatus::pending));
    run.work = [] {};
    CHECK(flow.start("2", 1).result == 2);
    CHECK((flow.get("2").status == RunStatus::success));
}

TEST_CASE("time travel takes a cancelled run back") {
    Cancelled run;
    const auto flow = wf::workflow<int>("w").then(run.step).then(run.next).commit({.checkpointer = run.saver});
    run.work = [&] { flow.cancel("1"); };
    flow.start("1", 1);
    CHECK(flow.timeTravel("1", run.next, 7).result == 7);
    CHECK((flow.get("1").status == RunStatus::success));
}

TEST_CASE("awaited runs are cancelled in the same way") {
    Cancelled run;
    const auto make = [&](std::shared_ptr<sg::BaseCheckpointSaver> saver) {
        return wf::workflow<int>("w").then(run.step).then(run.next).commit({.checkpointer = std::move(saver)});
    };
    const auto flow = make(run.saver);
    const auto elsewhere = make(std::make_shared<Door>(run.saver));
    int checked = 0;
    run.work = [&] {
        flow.cancel("1");
        run.checkStored(elsewhere.flow(), "1");
        ++checked;
    };
    CHECK((sg::syncWait(wf::asyncStart(flow, "1", 1)).status == RunStatus::canceled));
    CHECK(checked == 1);
    CHECK(run.later == 0);
}

TEST_CASE("a cancel that cannot be stored says so, and ends the run of this process all the same") {
    Cancelled run;
    const auto faults = std::make_shared<sg::testing::FaultSaver>(run.saver);
    const auto flow = wf::workflow<int>("w").then(run.step).then(run.next).commit({.checkpointer = faults});
    run.work = [&] {
        faults->arm({.fail_at = 1, .calls = sg::testing::SaverCalls::put});
        CHECK_THROWS_AS(flow.cancel("1"), sg::SaverError);
    };
    CHECK((flow.start("1", 1).status == RunStatus::canceled));
    CHECK(run.later == 0);
}

TEST_CASE("a run that continues while a cancel looks at its thread is canceled, or succeeds and stays so") {
    const auto saver = std::make_shared<Meanwhile>(std::make_shared<sg::MemorySaver>());
    const auto ask =
        wf::step("ask", [](const int& n, wf::Suspending<int, int>& context) { return n + context.suspend(n); });
    const auto flow = wf::workflow<int>("w").then(ask).commit({.checkpointer = saver});
    CHECK((flow.start("1", 1).status == RunStatus::suspended));
    std::future<bool> succeeded;
    saver->after_read = [&] {
        succeeded = std::async(std::launch::async, [&] {
            try {
                return flow.resume("1", ask, 2).status == RunStatus::success;
            } catch (const sg::Error&) {
                return false;
            }
        });
        succeeded.wait_for(100ms);  // before, it ended here, and the cancel changed what it had left
    };
    const auto seen = flow.cancel("1").status;
    const bool is_success = succeeded.get();
    CHECK((seen == RunStatus::canceled) != is_success);
    CHECK((flow.get("1").status == (is_success ? RunStatus::success : RunStatus::canceled)));
}

TEST_CASE("a run that is cancelled by any thread at any time is canceled, or had ended before") {
    for (int i = 0; i < 200; ++i) {
        CAPTURE(i);
        Cancelled run;
        const auto flow = wf::workflow<int>("w")
                              .then(run.step)
                              .parallel(run.next, wf::clone(run.step, "b"))
                              .commit({.checkpointer = run.saver});
        auto result = std::async(std::launch::async, [&] { return flow.start("1", 1); });
        for (int spin = 0; spin < 97 * i; ++spin) (void)flow.flow();
        const auto seen = flow.cancel("1").status;
        const auto ended = result.get().status;
        if (seen == RunStatus::success) CHECK((ended == RunStatus::success));
        if (seen == RunStatus::canceled) CHECK((ended == RunStatus::canceled));
        CHECK((flow.get("1").status == ended));
    }
}

TEST_CASE("a cancelled run keeps what was under way: finished members, and what a workflow inside has done") {
    savers::onEach([](savers::Store& store) {
        const auto inner = wf::workflow<int>("inner")
                               .then(wf::step("first", [](const int& n) { return n + 1; }))
                               .sleep(1h, "nap")
                               .then(wf::step("last", [](const int& n) { return n * 10; }))
                               .commit();
        const auto finished = wf::step("finished", [](const int& n, wf::Context& context) {
            context.setState("key", n);
            return n;
        });
        const auto make = [&] {
            return wf::workflow<int>("w")
                .parallel(finished, wf::step("inside", inner))
                .map([](const std::tuple<int, int>& both) { return std::get<0>(both) + std::get<1>(both); })
                .commit({.checkpointer = store.open()});
        };
        REQUIRE((make().start("1", 1).status == RunStatus::waiting));
        const auto run = make().cancel("1");
        CHECK((run.status == RunStatus::canceled));
        CHECK((run.view.steps.at("finished").status == StepStatus::success));
        CHECK(run.view.state.at("key") == sg::Value(1));
        CHECK((run.view.steps.at("inside.first").status == StepStatus::success));
        CHECK((run.view.steps.at("inside.nap").status == StepStatus::waiting));
        CHECK_FALSE(run.view.steps.contains("inside.last"));
        // So time travel can continue behind the sleep.
        CHECK(make().flow().timeTravel("1", "inside.last", {}, {}).result == sg::Value(21));
        CHECK(make().flow().timeTravel("1", "inside.last", sg::Value(5), {}).result == sg::Value(51));
    });
}

TEST_CASE("a step that cancels its run and then asks or bails leaves it canceled") {
    const auto asks = wf::step("asks", [](const int& n, wf::Suspending<std::string, int>& context) {
        context.cancel();
        return n + context.suspend("how much?");
    });
    const auto bails = wf::step("bails", [](const int&, wf::Context& context) -> int {
        context.cancel();
        context.bail(0);
    });
    const auto late = wf::step("late", [](const int& n) { return n; });
    const auto waits = wf::step("waits", [](const int& n, wf::Suspending<std::string, int>& context) {
        return n + context.suspend("and you?");
    });
    savers::onEach([&](savers::Store& store) {
        const auto saver = store.open();
        const auto check = [&](const auto& flow) {
            for (const bool is_awaited : {false, true}) {
                CAPTURE(is_awaited);
                const std::string id = is_awaited ? "awaited" : "blocking";
                const auto run = is_awaited ? sg::syncWait(wf::asyncStart(flow, id, 1)) : flow.start(id, 1);
                CHECK((run.status == RunStatus::canceled));
                CHECK(run.view.questions.empty());
                CHECK((flow.get(id).status == RunStatus::canceled));
                CHECK_THROWS_AS(flow.flow().resume(id, {}, sg::Value(1)), wf::RefusedError);
                CHECK_FALSE(run.view.steps.contains("late"));
            }
        };
        check(wf::workflow<int>("asks").then(asks).then(late).commit({.checkpointer = saver}));
        check(wf::workflow<int>("bails").then(bails).then(late).commit({.checkpointer = saver}));
        check(wf::workflow<int>("inside")
                  .then("inner", wf::workflow<int>("inner").then(asks).commit())
                  .then(late)
                  .commit({.checkpointer = saver}));
        // The question of a sibling is not asked any more.
        const auto cancels = wf::step("cancels", [](const int& n, wf::Context& context) {
            context.cancel();
            return n;
        });
        check(wf::workflow<int>("beside").parallel(waits, cancels).commit({.checkpointer = saver}));
        check(wf::workflow<int>("list")
                  .map([](const int& n) { return std::vector<int>{n}; })
                  .foreach (asks)
                  .commit({.checkpointer = saver}));
    });
}

TEST_CASE("the caller of a run learns that it is canceled, however many callers cancel it at the same time") {
    for (int round = 0; round < 100; ++round) {
        CAPTURE(round);
        Cancelled run;
        const auto flow = wf::workflow<int>("w").then(run.step).then(run.next).commit({.checkpointer = run.saver});
        std::atomic<bool> is_in = false;
        std::vector<std::jthread> others;
        run.work = [&] {
            if (is_in.exchange(true)) return;
            for (int i = 0; i < 3; ++i)
                others.emplace_back([&] { CHECK((flow.cancel("1").status == RunStatus::canceled)); });
            patience::until([&] { return run.saver->unfinishedThreads().empty(); });  // the first cancel is stored
        };
        CHECK((flow.start("1", 1).status == RunStatus::canceled));
        others.clear();
        CHECK((flow.get("1").status == RunStatus::canceled));
        CHECK(run.later == 0);
    }
}
