#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/waker.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/support/enough_time.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/until.hpp"

// A waker resumes runs that sleep.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using namespace std::chrono_literals;
using wf::RunStatus;

namespace {

const auto inc = wf::step("inc", [](const int& n) { return n + 1; });

class Resumed {
public:
    wf::WakerOptions options() {
        return {.on_resumed = [this](const std::string& run, const wf::RunView& view) {
            const std::lock_guard lock(mutex_);
            runs_[run] = view.status;
            changed_.notify_all();
        }};
    }
    bool waitFor(const std::string& run) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, 5min, [&] { return runs_.contains(run); });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, RunStatus> runs_;
};

}  // namespace

TEST_CASE("a waker resumes runs that fall asleep while it is there, and those that slept before") {
    // A sleep whose time has passed before the run would stop does not stop it.
    CHECK(withEnoughTime(300ms, [](std::chrono::milliseconds time) {
        const auto saver = std::make_shared<sg::MemorySaver>();
        const auto flow = wf::workflow<int>("nap").sleep(time).then(inc).commit({.checkpointer = saver});
        const auto other = wf::workflow<int>("other").sleep(24h).then(inc).commit({.checkpointer = saver});
        if (flow.start("before", 1).status != RunStatus::waiting) return false;
        REQUIRE((other.start("before", 1).status == RunStatus::waiting));
        Resumed resumed;
        {
            const wf::Waker waker({flow.flow()}, resumed.options());
            if (flow.start("during", 5).status != RunStatus::waiting) return false;
            CHECK(resumed.waitFor("before"));
            CHECK(resumed.waitFor("during"));
        }
        CHECK(flow.get("before").result == 2);
        CHECK(flow.get("during").result == 6);
        CHECK((other.get("before").status == RunStatus::waiting));  // that run is not among the waker's runs
        return true;
    }));
}

TEST_CASE("a waker that looks once an hour resumes each run, also one whose sleep is over while it is stopping") {
    const auto flow =
        wf::workflow<int>("nap").sleep(1ms).then(inc).commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const wf::Waker waker({flow.flow()}, {.poll_interval = 1h});
    for (int i = 0; i < 200; ++i) {
        const std::string run = std::to_string(i);
        (void)flow.start(run, 1);
        REQUIRE(patience::eventually([&] { return flow.get(run).status == RunStatus::success; }));
    }
}

TEST_CASE("a waker reports a run that was left at a step that its workflow no longer has") {
    const auto clock = ManualClock::make();
    sg::CompileOptions options{.checkpointer = std::make_shared<sg::MemorySaver>()};
    options.ids = clock;
    const auto before = wf::workflow<int>("nap").sleep(1ms, "old").then(inc).commit(options);
    const auto after = wf::workflow<int>("nap").sleep(1ms, "new").then(inc).commit(options);
    REQUIRE((before.start("1", 1).status == RunStatus::waiting));
    std::promise<std::string> reported;
    std::atomic<bool> is_reported = false;
    wf::WakerOptions how{.poll_interval = 1ms};
    how.on_error = [&](const std::string& run, const std::exception_ptr& error) {
        if (is_reported.exchange(true)) return;  // it is reported at each look
        try {
            std::rethrow_exception(error);
        } catch (const wf::RefusedError& refused) {
            reported.set_value(run + ": " + toString(refused.why()));
        } catch (...) {
            reported.set_value("another error");
        }
    };
    {
        const wf::Waker waker({after.flow()}, how);
        CHECK(reported.get_future().get() == "1: changed_definition");
    }
    clock->passMs(1000);
    CHECK(before.restart("1").result == 2);
}

TEST_CASE("a waker's poll interval is checked") {
    const auto flow = wf::workflow<int>("nap").then(inc).commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK_THROWS_AS(wf::Waker({flow.flow()}, {.poll_interval = 0ms}), sg::InvalidArgumentError);
}
