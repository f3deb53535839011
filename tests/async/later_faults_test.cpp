#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include <stategraph/control.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/async/later.hpp"
#include "tests/support/hand_home.hpp"
#include "tests/support/until.hpp"

// Awaited runs with a saver that answers later, in which something fails, or that end early.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

/// Begins a run on `home`, and runs what it can until a call of the saver is under way.
sg::Task<> begun(HandHome& home, const App& app, LaterSaver& saver, bool& is_over, const sg::RunConfig& config,
                 std::optional<sg::Result<State>>& result) {
    const auto run = [](App graph, sg::RunConfig with, std::optional<sg::Result<State>>& kept) -> Task<> {
        kept = co_await graph.asyncInvoke(Update{}, with);
    };
    Task<> task = run(app, config, result);
    task.handle().promise().startWith(
        task.handle(), [](void* over) { *static_cast<bool*>(over) = true; }, &is_over, home.home());
    saver.awaitCalls(1);
    return task;
}

}  // namespace

TEST_CASE("whichever put or read fails later, the run fails with it and can be resumed") {
    for (const auto answer : {LaterSaver::Answer::later, LaterSaver::Answer::at_once}) {
        for (const auto durability : durabilities) {
            for (const drivers::Driver& driver : drivers::all()) {
                if (!isAwaited(driver)) continue;
                CAPTURE(driver.name);
                for (std::size_t call = 1;; ++call) {
                    CAPTURE(call);
                    REQUIRE(call < 60);
                    const auto faults = std::make_shared<sg::testing::FaultSaver>(
                        std::make_shared<sg::MemorySaver>(),
                        sg::testing::FaultPlan{
                            .fail_at = call,
                            .after_effect = call % 3 == 0,
                            .calls = sg::testing::SaverCalls::put | sg::testing::SaverCalls::get_tuple});
                    const auto app = wide(std::make_shared<LaterSaver>(faults, 0us, answer));
                    const sg::RunConfig config{.thread_id = "t", .durability = durability};
                    const auto first = driver.run(app, Update{sg::set(&State::foo, "x")}, config);
                    CHECK(first.failed() == (faults->failures() > 0));
                    if (first.failed()) CHECK(first.as<sg::SaverError>() != nullptr);
                    const bool has_failed = faults->failures() > 0;
                    faults->disarm();
                    auto asked = first.failed() ? driver.run(app, sg::RESUME, config) : first;
                    if (asked.as<sg::EmptyInputError>() != nullptr)
                        asked = driver.run(app, Update{sg::set(&State::foo, "x")}, config);
                    REQUIRE(asked.what() == "");
                    REQUIRE(asked.interrupts.size() == 1);
                    const auto done = driver.run(app, sg::Command<State>{.resume = "yes"}, config);
                    REQUIRE(done.what() == "");
                    CHECK(done.values == State{"x", {"a", "b", "c", "answer yes", "end"}, 0});
                    if (!has_failed) break;
                }
            }
        }
    }
}

TEST_CASE("another writer's commit refuses that of an awaited run, which stores nothing more") {
    for (const auto durability : {sg::Durability::sync, sg::Durability::async}) {
        const auto inner = std::make_shared<sg::MemorySaver>();
        const auto saver = std::make_shared<LaterSaver>(inner);
        const auto other = chainOf(appends("other")).compile({.checkpointer = inner});
        const auto app = chainOf(
                             [&](const State&) -> Task<Update> {
                                 // What this run has put before may still be under way, and refuse the other's input.
                                 for (bool is_stored = false; !is_stored;) {
                                     try {
                                         (void)other.invoke({sg::set(&State::foo, "theirs")}, {.thread_id = "t"});
                                         is_stored = true;
                                     } catch (const sg::ConcurrentUpdateError&) {
                                     }
                                 }
                                 co_return {sg::add(&State::bar, "a")};
                             },
                             appendsLater("b"))
                             .compile({.checkpointer = saver});
        CHECK_THROWS_AS((void)sg::syncWait(app.asyncInvoke({sg::set(&State::foo, "ours")},
                                                           {.thread_id = "t", .durability = durability})),
                        sg::ConcurrentUpdateError);
        CHECK(app.getState({.thread_id = "t"}).values.foo == "theirs");
        CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"other"});
    }
}

TEST_CASE("a run that is destroyed while a call of its saver is under way waits for it, and its thread can continue") {
    for (std::size_t answered = 0; answered < 5; ++answered) {
        CAPTURE(answered);
        const auto saver = std::make_shared<LaterSaver>();
        const auto app = chainOf(appendsLater("a", 0us), appendsLater("b", 0us)).compile({.checkpointer = saver});
        HandHome home;
        bool is_over = false;
        std::optional<sg::Result<State>> result;
        saver->close();
        std::optional<Task<>> task = begun(home, app, *saver, is_over, {.thread_id = "t"}, result);
        for (std::size_t i = 0; i < answered && !is_over; ++i) {
            saver->open();
            while (!is_over && saver->answered() <= i + 1) home.runOne(1ms);
            saver->close();
        }
        if (is_over) {  // it was faster than the call that closes the saver
            saver->open();
            continue;
        }
        std::thread opens([&] {
            std::this_thread::sleep_for(5ms);  // sleeps: usually enough; what is checked holds in any case
            saver->open();
        });
        task.reset();
        CHECK_FALSE(is_over);
        CHECK_FALSE(result.has_value());
        opens.join();
        sg::Result<State> done;
        try {
            done = app.invoke(sg::RESUME, {.thread_id = "t"});
        } catch (const sg::EmptyInputError&) {
            done = app.invoke(Update{}, {.thread_id = "t"});
        }
        CHECK(done.values.bar == Strings{"a", "b"});
    }
}

TEST_CASE("a run that is left after some steps of a driver can be resumed, whatever was under way") {
    for (const drivers::Driver& driver : drivers::all()) {
        if (!driver.canAbandon()) continue;
        for (std::size_t steps = 1; steps < 8; ++steps) {
            CAPTURE(driver.name);
            CAPTURE(steps);
            const auto saver = std::make_shared<LaterSaver>(std::make_shared<sg::MemorySaver>(), 50us);
            const App app =
                chainOf(appends("a"), appendsLater("b", 50us), appends("c")).compile({.checkpointer = saver});
            (void)driver.abandon(app, bar("in"), {.thread_id = "t"}, {.steps = steps});
            auto done = drivers::blocking().run(app, sg::RESUME, {.thread_id = "t"});
            if (done.as<sg::EmptyInputError>() != nullptr)
                done = drivers::blocking().run(app, bar("in"), {.thread_id = "t"});
            REQUIRE(done.what() == "");
            CHECK(done.values.bar == Strings{"in", "a", "b", "c"});
        }
    }
}

TEST_CASE("a stop or a timeout that comes while a put is under way ends the run when the put has ended") {
    for (const bool times_out : {false, true}) {
        const auto saver = std::make_shared<LaterSaver>();
        const auto control = std::make_shared<sg::RunControl>();
        const auto app = chainOf(appendsLater("a", 0us), appendsLater("b", 0us)).compile({.checkpointer = saver});
        sg::RunConfig config{.thread_id = "t", .durability = sg::Durability::sync};
        if (times_out) {
            config.timeout = 1ms;
        } else {
            config.control = control;
        }
        HandHome home;
        bool is_over = false;
        std::optional<sg::Result<State>> result;
        saver->close();
        const Task<> task = begun(home, app, *saver, is_over, config, result);
        if (times_out) {
            std::this_thread::sleep_for(3ms);  // sleeps: a limit of time ends
        } else {
            control->requestStop();
        }
        home.runOne(1ms);
        CHECK_FALSE(is_over);
        saver->open();
        while (!is_over) home.runOne(1ms);
        REQUIRE(result.has_value());
        CHECK((result->status == (times_out ? sg::Status::timed_out : sg::Status::cancelled)));
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"a", "b"});
    }
}

TEST_CASE("a thread is cancelled while its awaited run has a put under way") {
    const auto saver = std::make_shared<LaterSaver>(std::make_shared<sg::MemorySaver>(), 200us);
    std::atomic<bool> is_inside = false;
    std::optional<App> app;
    app = chainOf(
              [&](const State&) -> Task<Update> {
                  is_inside = true;
                  while (!app->getState({.thread_id = "t"}).cancelled) co_await sg::sleepFor(1ms);
                  co_return {sg::add(&State::bar, "a")};
              },
              appendsLater("b"))
              .compile({.checkpointer = saver});
    auto run = sg::spawn(twoThreads(), app->asyncInvoke(Update{}, {.thread_id = "t"}));
    patience::until([&]() -> bool { return is_inside; });
    CHECK(app->cancelThread("t"));
    (void)run.get();
    CHECK_THROWS_AS((void)app->invoke(sg::RESUME, {.thread_id = "t"}), sg::InvalidArgumentError);
}
