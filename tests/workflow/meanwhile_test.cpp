#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/async.hpp>

#include "tests/support/enough_time.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/meanwhile.hpp"
#include "tests/support/until.hpp"
#include "tests/workflow/refusal.hpp"

// Calls of Flow that read a run and then do something to it, while another process changes the run in between.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using namespace std::chrono_literals;
using wf::RunStatus;

namespace {

/// One workflow with a sleep and a question, which is opened by two processes that share a store.
struct Shared {
    explicit Shared(std::chrono::milliseconds sleep = 0ms)
        : through(std::make_shared<Meanwhile>(store)),
          mine(make(through, sleep)),
          other(make(std::make_shared<Door>(store), sleep)) {}

    // An hour is one of the test's clock.
    wf::Workflow<int, int> make(std::shared_ptr<sg::BaseCheckpointSaver> saver, std::chrono::milliseconds sleep) {
        sg::CompileOptions options{.checkpointer = std::move(saver)};
        if (sleep == 1h) options.ids = clock;
        return wf::workflow<int>("w")
            .then(wf::step("first",
                           [this](const int& n) {
                               ++firsts;
                               return n + 1;
                           }))
            .sleep(sleep, "nap")
            .then(gate)
            .then(wf::step("last",
                           [this](const int& n) {
                               ++lasts;
                               return n * 2;
                           }))
            .commit(options);
    }
    /// Lets the other process do something when this one has read the run.
    void afterMyRead(std::function<void()> call) { through->after_read = std::move(call); }

    std::shared_ptr<ManualClock> clock = ManualClock::make();
    std::shared_ptr<sg::MemorySaver> store = std::make_shared<sg::MemorySaver>();
    std::shared_ptr<Meanwhile> through;
    std::atomic<int> firsts = 0, gates = 0, lasts = 0;
    wf::TypedStep<int, int, std::string, int> gate =
        wf::step("gate", [this](const int& n, wf::Suspending<std::string, int>& context) {
            ++gates;
            return n + context.suspend("how much?");
        });
    wf::Workflow<int, int> mine, other;
};

wf::RunOptions waiting() {
    wf::RunOptions options;
    options.waits = true;
    return options;
}

/// Returns when the run "1" sleeps, or has slept: a busy machine may look only when it has woken up and asks.
void awaitSleep(const Shared& run) {
    patience::until([&] {
        const RunStatus seen = run.other.get("1").status;
        return seen == RunStatus::waiting || seen == RunStatus::suspended;
    });
}

/// Leaves the run "1" asleep until a time that has come.
void sleepUntilDue(const Shared& run) {
    REQUIRE((run.other.start("1", 1).status == RunStatus::waiting));
    run.clock->passMs(2 * 3'600'000);
}

}  // namespace

TEST_CASE("a cancel does not end a run that another process ends while the cancel reads it") {
    Shared run;
    REQUIRE((run.other.start("1", 1).status == RunStatus::suspended));
    run.afterMyRead([&] { CHECK(run.other.resume("1", run.gate, 10).result == 24); });
    CHECK((run.mine.cancel("1").status == RunStatus::success));
    CHECK((run.mine.get("1").status == RunStatus::success));
    CHECK(run.mine.get("1").result == 24);
}

TEST_CASE("a cancel ends the run as it has become while the cancel read it") {
    Shared run;
    REQUIRE((run.other.start("1", 1).status == RunStatus::suspended));
    run.afterMyRead([&] { run.other.start("1", 5); });  // it begins again, and waits again
    CHECK((run.mine.cancel("1").status == RunStatus::canceled));
    CHECK(run.mine.flow().get("1").input == sg::Value(5));
    CHECK((refusalOf([&] { run.other.resume("1", run.gate, 10); }) == wf::Refusal::not_suspended));
}

TEST_CASE("a time travel is refused if another process continues the run while it reads it") {
    for (const bool awaits : {false, true}) {
        CAPTURE(awaits);
        Shared run;
        REQUIRE((run.other.start("1", 1).status == RunStatus::suspended));
        run.afterMyRead([&] { CHECK(run.other.resume("1", run.gate, 10).result == 24); });
        const auto travel = [&] {
            if (awaits) return void(sg::syncWait(wf::asyncTimeTravel(run.mine.flow(), "1", "last", sg::Value(1), {})));
            run.mine.flow().timeTravel("1", "last", sg::Value(1), {}, {});
        };
        CHECK((refusalOf(travel) == wf::Refusal::already_claimed));
        CHECK(run.mine.get("1").result == 24);
        CHECK(run.lasts == 1);
    }
}

TEST_CASE("a time travel of a new run is refused if another process begins the run at the same time") {
    Shared run;
    run.afterMyRead([&] { run.other.start("1", 1); });
    const auto travel = [&] { run.mine.flow().timeTravel("1", "first", sg::Value(5), {}, {}); };
    CHECK((refusalOf(travel) == wf::Refusal::already_claimed));
    CHECK((run.mine.get("1").status == RunStatus::suspended));
    CHECK(run.mine.flow().get("1").input == sg::Value(1));
    CHECK(run.firsts == 1);
}

TEST_CASE("of two processes that restart a run, the second one does not execute what waits by now") {
    for (const bool awaits : {false, true}) {
        for (const bool changes_context : {false, true}) {
            CAPTURE(awaits);
            CAPTURE(changes_context);
            Shared run(1h);
            sleepUntilDue(run);
            run.afterMyRead([&] { CHECK((run.other.restart("1").status == RunStatus::suspended)); });
            wf::RunOptions options;
            if (changes_context) options.context.emplace("who", sg::Value("mine"));
            const auto restart = [&] {
                if (awaits) return void(sg::syncWait(wf::asyncRestart(run.mine, "1", options)));
                run.mine.restart("1", options);
            };
            CHECK((refusalOf(restart) == wf::Refusal::already_claimed));
            CHECK(run.gates == 1);
            CHECK(run.other.resume("1", run.gate, 10).result == 24);
        }
    }
}

TEST_CASE("a restart does not continue a run that another process has let take a single step and pause") {
    Shared run(1h);
    sleepUntilDue(run);
    run.afterMyRead([&] {
        wf::RunOptions options;
        options.single_step = true;
        CHECK((run.other.restart("1", options).status == RunStatus::paused));
    });
    CHECK((refusalOf([&] { run.mine.restart("1"); }) == wf::Refusal::already_claimed));
    CHECK(run.gates == 0);
    CHECK((run.mine.get("1").status == RunStatus::paused));
}

TEST_CASE("a call that waits for the end of a sleep returns the run as another process has left it meanwhile") {
    for (const bool awaits : {false, true}) {
        CAPTURE(awaits);
        CHECK(withEnoughTime(100ms, [&](std::chrono::milliseconds time) {
            Shared run(time);
            auto mine = std::async(std::launch::async, [&] {
                return awaits ? sg::syncWait(wf::asyncStart(run.mine, "1", 1, waiting())).status
                              : run.mine.start("1", 1, waiting()).status;
            });
            awaitSleep(run);
            bool was_first = true;
            try {
                wf::RunOptions options;
                options.outputs.emplace("nap", sg::Value(2));
                run.other.timeTravel("1", run.gate, 5, options);
            } catch (const sg::Error&) {  // the run woke up before
                was_first = false;
            }
            RunStatus status = RunStatus::pending;
            try {
                status = mine.get();
            } catch (const sg::Error&) {  // the other one came before this one had stored all it had
                return false;
            }
            // Two questions: the run had woken up and asked before the time travel, or both calls executed the step.
            if (!was_first || run.firsts != 1 || run.gates != 1) return false;
            if (status == RunStatus::running) return false;  // it looked before the other call had asked
            CHECK((status == RunStatus::suspended));
            return true;
        }));
    }
}

TEST_CASE("a call that waits for the end of a sleep returns a run as canceled that another process has cancelled") {
    for (const bool awaits : {false, true}) {
        for (const bool restarts : {false, true}) {
            CAPTURE(awaits);
            CAPTURE(restarts);
            CHECK(withEnoughTime(100ms, [&](std::chrono::milliseconds time) {
                Shared run(time);
                if (restarts) run.other.start("1", 1);
                auto mine = std::async(std::launch::async, [&] {
                    if (restarts)
                        return awaits ? sg::syncWait(wf::asyncRestart(run.mine, "1", waiting())).status
                                      : run.mine.restart("1", waiting()).status;
                    return awaits ? sg::syncWait(wf::asyncStart(run.mine, "1", 1, waiting())).status
                                  : run.mine.start("1", 1, waiting()).status;
                });
                awaitSleep(run);
                // The other process waits too, so its cancel is a note next to the checkpoint.
                auto other = std::async(std::launch::async, [&] { return run.other.restart("1", waiting()).status; });
                std::this_thread::sleep_for(time / 4);  // sleeps: usually enough; what is checked holds in any case
                const RunStatus cancelled = run.other.cancel("1").status;
                RunStatus status = RunStatus::pending;
                try {
                    other.get();
                    status = mine.get();
                } catch (const sg::Error&) {  // one was first before the other had stored all it had, or it woke up
                    return false;
                }
                if (cancelled != RunStatus::canceled || run.gates > 0) return false;
                CHECK((status == RunStatus::canceled));
                return true;
            }));
        }
    }
}

TEST_CASE(
    "a call that goes on after a sleep returns a run as canceled that another process cancels while it reads it") {
    for (const bool awaits : {false, true}) {
        CAPTURE(awaits);
        CHECK(withEnoughTime(1ms, [&](std::chrono::milliseconds time) {
            Shared run(time);
            bool was_cancelled = false;
            std::function<void()> cancel_after_sleep = [&] {
                if (run.firsts == 0) return run.afterMyRead(cancel_after_sleep);
                CHECK((run.other.cancel("1").status == RunStatus::canceled));
                was_cancelled = true;
            };
            run.afterMyRead(cancel_after_sleep);
            const wf::RunOptions options = waiting();
            const RunStatus status = awaits ? sg::syncWait(wf::asyncStart(run.mine, "1", 1, options)).status
                                            : run.mine.start("1", 1, options).status;
            if (!was_cancelled) return false;  // the sleep was over before the run could stop for it
            CHECK((status == RunStatus::canceled));
            CHECK((run.other.get("1").status == RunStatus::canceled));
            CHECK(run.gates == 0);
            return true;
        }));
    }
}

TEST_CASE("a cancel ends a run that was begun again while the first call waits for the end of its sleep") {
    std::latch is_begun(1), may_end(1);
    std::atomic<int> afterwards = 0;
    const auto busy = wf::step("busy", [&](const int& n) {
        if (n == 2) {
            is_begun.count_down();
            may_end.wait();
        }
        return n;
    });
    const auto after = wf::step("after", [&](const int& n) {
        if (n == 2) ++afterwards;
        return n;
    });
    const auto flow = wf::workflow<int>("w").then(busy).then(after).sleep(1h, "nap").commit(
        {.checkpointer = std::make_shared<sg::MemorySaver>()});
    auto first = std::async(std::launch::async, [&] {
        try {
            return flow.start("1", 1, waiting()).status;
        } catch (const wf::RefusedError&) {  // the other call has the run
            return RunStatus::canceled;
        }
    });
    patience::until([&] { return flow.get("1").status == RunStatus::waiting; });
    auto second = std::async(std::launch::async, [&] {
        for (;;) {
            try {
                return flow.start("1", 2).status;
            } catch (const wf::RefusedError&) {    // the first call has not put the thread down yet
                std::this_thread::sleep_for(1ms);  // sleeps: between two tries
            }
        }
    });
    is_begun.wait();
    auto cancelled = std::async(std::launch::async, [&] { return flow.cancel("1").status; });
    CHECK(std::string(toString(first.get())) == "canceled");  // both calls have been told
    may_end.count_down();
    cancelled.wait();
    CHECK((second.get() == RunStatus::canceled));
    CHECK((flow.get("1").status == RunStatus::canceled));
    CHECK(afterwards == 0);
}
