#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

#include "tests/async/support.hpp"
#include "tests/support/enough_time.hpp"
#include "tests/support/until.hpp"

// Task, and what it can await.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

Task<int> gives(int value) { co_return value; }
Task<int> throws() {
    throw std::runtime_error("no");
    co_return 0;
}
Task<int> sumsTo(int count) {
    int sum = 0;
    for (int i = 1; i <= count; ++i) {
        const int one = co_await gives(1);
        sum += one;
    }
    co_return sum;
}
Task<> sets(bool& done) {
    done = true;
    co_return;
}

}  // namespace

TEST_CASE("a task gives its value, or throws what it threw") {
    CHECK(sg::syncWait(gives(3)) == 3);
    CHECK_THROWS_WITH_AS(sg::syncWait(throws()), "no", std::runtime_error);
    const auto catches = []() -> Task<std::string> {
        std::string text;
        try {
            (void)co_await throws();
        } catch (const std::exception& error) {
            text = error.what();
        }
        co_return text;
    };
    CHECK(sg::syncWait(catches()) == "no");
}

TEST_CASE("a task does nothing until it is awaited") {
    bool done = false;
    {
        Task<> task = sets(done);
        CHECK(static_cast<bool>(task));
    }
    CHECK_FALSE(done);
    sg::syncWait(sets(done));
    CHECK(done);
}

TEST_CASE("a task can be moved, and only what there is can be awaited") {
    Task<int> task = gives(1);
    Task<int> other = std::move(task);
    CHECK_FALSE(static_cast<bool>(task));
    CHECK_THROWS_AS(sg::syncWait(std::move(task)), sg::InvalidArgumentError);
    CHECK(sg::syncWait(std::move(other)) == 1);
    const auto twice = []() -> Task<int> {
        Task<int> once = gives(1);
        const int first = co_await std::move(once);
        const int second = co_await std::move(once);  // not moved from by that: still there, and over
        co_return first + second;
    };
    CHECK_THROWS_WITH_AS(sg::syncWait(twice()), doctest::Contains("can be done once"), sg::InvalidArgumentError);
}

TEST_CASE("a million tasks that are done at once do not pile up on the stack") {
    CHECK(sg::syncWait(sumsTo(1'000'000)) == 1'000'000);
}

TEST_CASE("results that can only be moved are moved") {
    const auto makes = []() -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
    const auto result = sg::syncWait(makes());
    CHECK(*result == 7);
}

TEST_CASE("a sleep lasts, and resumes on the thread that waits") {
    const auto sleeps = []() -> Task<std::thread::id> {
        co_await sg::sleepFor(5ms);
        co_return std::this_thread::get_id();
    };
    const auto begin = std::chrono::steady_clock::now();
    CHECK(sg::syncWait(sleeps()) == std::this_thread::get_id());
    CHECK(std::chrono::steady_clock::now() - begin >= 5ms);
}

TEST_CASE("sleepers wake in the order of their times, whatever the order in which they lay down") {
    Log log;
    using Time = std::chrono::steady_clock::time_point;
    const auto sleeps = [&log](int ms, Time begin) -> Task<> {
        co_await sg::sleepUntil(begin + std::chrono::milliseconds(ms));
        log.add(std::to_string(ms));
    };
    const auto looksAtClock = []() -> Task<Time> { co_return std::chrono::steady_clock::now(); };
    CHECK(withEnoughTime(50ms, [&](std::chrono::milliseconds time) {
        const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 1});
        std::vector<sg::Spawning<void>> all;
        const Time begin = std::chrono::steady_clock::now() + time;
        for (const int ms : {30, 10, 50, 20, 40}) all.push_back(sg::spawn(executor, sleeps(ms, begin)));
        // The executor's thread comes to this when all of them have lain down.
        const Time lain = sg::spawn(executor, looksAtClock()).get();
        for (auto& each : all) each.get();
        const Strings order = log.take();
        if (lain > begin) return false;
        CHECK(order == Strings{"10", "20", "30", "40", "50"});
        return true;
    }));
}

TEST_CASE("schedule changes the thread, for what comes after it too") {
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 1, .idle = 1h});
    const auto moves = [&]() -> Task<std::vector<std::thread::id>> {
        std::vector<std::thread::id> ids{std::this_thread::get_id()};
        co_await sg::schedule(*executor);
        ids.push_back(std::this_thread::get_id());
        co_await sg::sleepFor(1ms);
        ids.push_back(std::this_thread::get_id());
        co_return ids;
    };
    const auto ids = sg::syncWait(moves());
    CHECK(ids[0] == std::this_thread::get_id());
    CHECK(ids[1] != ids[0]);
    CHECK(ids[2] == ids[1]);
}

TEST_CASE("a spawned task runs on the executor, and its end is reported once") {
    auto spawning = sg::spawn(twoThreads(), gives(4));
    CHECK(spawning.get() == 4);
    CHECK(spawning.isDone());
    auto failing = sg::spawn(twoThreads(), throws());
    CHECK_THROWS_WITH_AS(failing.get(), "no", std::runtime_error);

    std::atomic<int> ends = 0;
    const auto executor = twoThreads();
    std::vector<sg::Spawning<void>> waits;
    for (int i = 0; i < 100; ++i) {
        const auto sleeps = [](int number) -> Task<int> {
            co_await sg::sleepFor(1ms);
            co_return number;
        };
        sg::spawn(executor, sleeps(i), [&ends, i](sg::Outcome<int> outcome) {
            if (!outcome.error() && outcome.get() == i) ++ends;
        });
    }
    patience::until([&] { return ends >= 100; });
}

TEST_CASE("the last to hold an executor may be a task on it") {
    std::atomic<bool> done = false;
    {
        auto executor = twoThreads();
        const auto sleeps = []() -> Task<> { co_await sg::sleepFor(5ms); };
        sg::spawn(std::move(executor), sleeps(), [&done](const sg::Outcome<void>&) { done = true; });
    }
    patience::until([&]() -> bool { return done; });
}

TEST_CASE("a task that waits can be destroyed, and is never resumed") {
    int resumed = 0;
    const auto sleeps = [&resumed](std::shared_ptr<int> held, std::chrono::nanoseconds time) -> Task<> {
        co_await sg::sleepFor(time);
        resumed += *held;
    };
    const auto owns = [&](std::shared_ptr<int> held, std::chrono::nanoseconds time) -> Owner {
        co_await sleeps(held, time);
    };
    const auto held = std::make_shared<int>(1);
    for (int i = 0; i < 100; ++i) {
        const Owner owner = owns(held, 1h);
        CHECK(held.use_count() > 1);
        owner.handle.destroy();
    }
    CHECK(held.use_count() == 1);
    CHECK(resumed == 0);
}
