#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/run_control.hpp>
#include <stategraph/workflow/async.hpp>

#include "tests/support/until.hpp"

// Workflows used as steps are retried according to their policy: how often, for which errors, and after which waits.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using wf::RunStatus;
using namespace std::chrono_literals;

namespace {

struct Busy : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Fails a given number of times, and counts its calls.
struct Failing {
    std::atomic<int> executed = 0;
    int failures = 100;

    template <class Error = std::runtime_error>
    auto step(std::string text = "no") {
        return wf::step("fails", [this, text](const int& n) {
            if (++executed <= failures) throw Error(text);
            return n + 1;
        });
    }
};

sg::RetryPolicy policy(int attempts) {
    return {.max_attempts = attempts, .initial_interval = 0ms, .backoff_factor = 1, .jitter = false};
}

/// A workflow with the inner one as its only step, retried by the policy; the step inside is tried once.
template <class Inner>
wf::Workflow<int, int> around(Inner inner, sg::RetryPolicy retry,
                              std::shared_ptr<sg::BaseCheckpointSaver> saver = std::make_shared<sg::MemorySaver>()) {
    return wf::workflow<int>("w")
        .then("inner", std::move(inner))
        .retry(std::move(retry))
        .commit({.checkpointer = std::move(saver)});
}

}  // namespace

TEST_CASE("the waits between attempts grow by the factor of the policy, up to its longest") {
    Failing failing;
    const auto flow = around(
        wf::workflow<int>("i").then(failing.step()).commit(),
        {.max_attempts = 4, .initial_interval = 20ms, .backoff_factor = 3, .max_interval = 45ms, .jitter = false});
    const auto began = std::chrono::steady_clock::now();
    CHECK((flow.start("1", 1).status == RunStatus::failed));
    CHECK(failing.executed == 4);
    CHECK(std::chrono::steady_clock::now() - began >= 20ms + 45ms + 45ms);
}

TEST_CASE("errors that the policy does not accept are not retried, whichever workflow they come through") {
    Failing failing;
    sg::RetryPolicy busy = policy(3);
    busy.retry_on = sg::on<Busy>();
    SUBCASE("an accepted one") {
        CHECK((around(wf::workflow<int>("i").then(failing.step<Busy>()).commit(), busy).start("1", 1).status ==
               RunStatus::failed));
        CHECK(failing.executed == 3);
    }
    SUBCASE("another one") {
        CHECK((around(wf::workflow<int>("i").then(failing.step()).commit(), busy).start("1", 1).status ==
               RunStatus::failed));
        CHECK(failing.executed == 1);
    }
    SUBCASE("an accepted one, two workflows down") {
        const auto inner = wf::workflow<int>("i").then(failing.step<Busy>()).commit();
        const auto middle = wf::workflow<int>("m").then("inner", inner).commit();
        CHECK((around(middle, busy).start("1", 1).status == RunStatus::failed));
        CHECK(failing.executed == 3);
    }
    SUBCASE("an accepted one, of an element of a list") {
        const auto inner = wf::workflow<int>("i")
                               .map([](const int& n) { return std::vector<int>{n}; })
                               .foreach (failing.step<Busy>())
                               .map([](const std::vector<int>& all) { return all.at(0); })
                               .commit();
        failing.failures = 2;
        CHECK(around(inner, busy).start("1", 1).result == 2);
        CHECK(failing.executed == 3);
    }
    SUBCASE("a condition's, of which the text is known") {
        const auto inner = wf::workflow<int>("i")
                               .dowhile(wf::step("turn", [](const int& n) { return n; }),
                                        [&](const int&) -> bool {
                                            ++failing.executed;
                                            throw Busy("no");
                                        })
                               .commit();
        CHECK((around(inner, busy).start("1", 1).status == RunStatus::failed));
        CHECK(failing.executed == 1);
    }
}

TEST_CASE("the other policies of a policy decide about errors that it does not accept") {
    Failing failing;
    sg::RetryPolicy both = policy(1);
    both.retry_on = sg::on<std::invalid_argument>();
    sg::RetryPolicy busy = policy(4);
    busy.retry_on = sg::on<Busy>();
    both.otherwise.push_back(busy);
    CHECK((around(wf::workflow<int>("i").then(failing.step<Busy>()).commit(), both).start("1", 1).status ==
           RunStatus::failed));
    CHECK(failing.executed == 4);
}

TEST_CASE("awaited runs retry workflows in the same way") {
    Failing failing;
    failing.failures = 2;
    sg::RetryPolicy busy = policy(3);
    busy.retry_on = sg::on<Busy>();
    const auto flow = around(wf::workflow<int>("i").then(failing.step<Busy>()).commit(), busy);
    CHECK(sg::syncWait(wf::asyncStart(flow, "1", 1)).result == 2);
    CHECK(failing.executed == 3);
}

TEST_CASE("whether another attempt follows is decided once, also where the run resumes in another process") {
    CHECK(withEnoughTime(100ms, [](std::chrono::milliseconds time) {
        Failing failing;
        failing.failures = 1;
        std::atomic<int> asked = 0;
        sg::RetryPolicy counted = policy(3);
        counted.retry_on = [&](const Busy&) {
            ++asked;
            return true;
        };
        const auto saver = std::make_shared<sg::MemorySaver>();
        const auto process = [&] {
            const auto inner = wf::workflow<int>("i").sleep(time).then(failing.step<Busy>()).sleep(time).commit();
            return around(inner, counted, saver);
        };
        auto status = process().start("1", 1).status;
        int restarts = 0;
        for (; status == RunStatus::waiting && restarts < 20; ++restarts) {
            std::this_thread::sleep_for(time + 10ms);  // sleeps: the pause before a retry ends
            status = process().restart("1").status;
        }
        CHECK((status == RunStatus::success));
        CHECK(asked == 1);
        CHECK(failing.executed == 2);
        // Each attempt sleeps before and after the step. A sleep whose time has passed before the run would stop does
        // not stop the run, so a machine that pauses shows fewer stops; the decisions stay the same.
        return restarts >= 1;
    }));
}

TEST_CASE("a wait between attempts ends when the run is stopped") {
    Failing failing;
    const auto control = std::make_shared<sg::RunControl>();
    const auto flow = around(wf::workflow<int>("i").then(failing.step()).commit(),
                             {.max_attempts = 2, .initial_interval = 1h, .jitter = false});
    wf::RunOptions options;
    options.control = control;
    std::jthread stops([&] {
        patience::until([&] { return failing.executed != 0; });
        control->requestStop();
    });
    CHECK((flow.start("1", 1, options).status == RunStatus::canceled));
    CHECK(failing.executed == 1);
}

TEST_CASE("a workflow in which any member of the failed block fails for good is not retried") {
    std::atomic<int> executed = 0;
    const auto fails = wf::step("fails", [&](const int&) -> int {
        ++executed;
        throw std::runtime_error("not now");
    });
    const auto never = wf::step("never", [](const int&) -> int { throw wf::PermanentError("never"); });
    const auto first = [](const std::tuple<int, int>& both) { return std::get<0>(both); };
    const auto flow = around(wf::workflow<int>("i").parallel(fails, never).map(first).commit(), policy(3));
    CHECK(flow.start("1", 1).error == "not now");  // the first in the list
    CHECK(executed == 1);

    // The permanent failure of an earlier entry, in a run that time travel has taken back, does not count.
    std::atomic<bool> mends = false;
    const auto once = wf::step("once", [&](const int& n) {
        if (!mends) throw wf::PermanentError("not yet");
        return n;
    });
    const auto back = around(wf::workflow<int>("i").then(once).then(fails).commit(), policy(2));
    CHECK(back.start("1", 1).error == "not yet");
    mends = true;
    executed = 0;
    CHECK(back.flow().timeTravel("1", "inner", sg::Value(1), {}).error == "not now");
    CHECK(executed == 2);
}
