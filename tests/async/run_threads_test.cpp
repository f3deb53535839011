// ALSO PLAIN: it forks while threads run
// The threads on which a worker's runs are awaited: few while nothing blocks, and more while nodes do.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/control.hpp>
#include <stategraph/detail/run_threads.hpp>
#include <stategraph/memory_saver.hpp>

#include "tests/async/later.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/until.hpp"

using namespace graphs;
using namespace std::chrono_literals;
using sg::detail::RunThreads;

namespace {

/// How a run ended.
struct RunEnd {
    std::atomic<bool> is_over = false;
    sg::Status status = sg::Status::done;
    std::exception_ptr error;
};

// The configuration is copied into the coroutine.
sg::Task<> runs(App app, sg::RunConfig config, RunEnd& end) {
    try {
        Update input{sg::set(&State::foo, std::string("x"))};
        auto run = app.asyncInvoke(std::move(input), config);
        const auto result = co_await std::move(run);
        end.status = result.status;
    } catch (...) {
        end.error = std::current_exception();
    }
    end.is_over = true;
}

template <class Condition>
void await(Condition condition) {
    patience::until([&] { return condition(); });
}

sg::RunConfig stoppable(std::string thread, std::shared_ptr<sg::RunControl> control = {}) {
    sg::RunConfig config{.thread_id = std::move(thread)};
    config.control = control ? std::move(control) : std::make_shared<sg::RunControl>();
    return config;
}

}  // namespace

TEST_CASE("a thousand runs that sleep at the same time need a few threads") {
    RunThreads threads(2, 1000);
    threads.open();
    std::atomic<int> waiting{0};
    std::atomic<bool> may_end{false};
    const auto sleeps = [](std::atomic<int>& count, const std::atomic<bool>& over) -> sg::Task<> {
        ++count;
        while (!over) co_await sg::sleepFor(500ms);
    };
    for (int i = 0; i < 1000; ++i) threads.run(sleeps(waiting, may_end));
    await([&] { return waiting == 1000; });
    // While a busy machine pauses threads, others take their places; they end again.
    CHECK(patience::eventually([&] { return threads.threads() < 500; }));
    may_end = true;
    threads.join();
    CHECK(threads.threads() == 0);
}

TEST_CASE("nodes that block, and may be abandoned, are all called at once though few threads are used otherwise") {
    constexpr int count = 64;
    RunThreads threads(2, 1000);
    threads.open();
    std::latch all(count);
    const auto app = chainOf([&all](const State&) -> Update {
                         all.arrive_and_wait();
                         return {};
                     }).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    std::vector<std::unique_ptr<RunEnd>> ends;
    for (int i = 0; i < count; ++i) {
        ends.push_back(std::make_unique<RunEnd>());
        threads.run(runs(app, stoppable(std::to_string(i)), *ends.back()));
    }
    threads.join();
    for (const auto& end : ends) {
        CHECK(end->error == nullptr);
        CHECK((end->status == sg::Status::done));
    }
}

TEST_CASE("a node that may be abandoned is called on the thread that drives its run, and the next one too") {
    RunThreads threads(1, 8);
    threads.open();
    std::mutex mutex;
    std::set<std::thread::id> called;
    const auto note = [&](const State&) -> Update {
        const std::lock_guard lock(mutex);
        called.insert(std::this_thread::get_id());
        return {};
    };
    const auto app = chainOf(note, note, note).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    RunEnd end;
    threads.run(runs(app, stoppable("t"), end));
    threads.join();
    CHECK(end.error == nullptr);
    CHECK(called.size() == 1);
}

TEST_CASE("a node that never returns is abandoned, its run ends, and its late result is discarded") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    std::atomic<bool> has_begun{false};
    std::atomic<bool> may_return{false};
    std::atomic<bool> has_returned{false};
    const auto app = chainOf([&](const State&) -> Update {
                         has_begun = true;
                         await([&] { return may_return.load(); });
                         has_returned = true;
                         return {sg::add(&State::bar, std::string("late"))};
                     }).compile({.checkpointer = saver});
    RunEnd end;
    const auto control = std::make_shared<sg::RunControl>();
    {
        RunThreads threads(1, 8);
        threads.open();
        threads.run(runs(app, stoppable("t", control), end));
        await([&] { return has_begun.load(); });
        control->requestStop();
        threads.join();  // not for the node
        CHECK(threads.threads() == 1);
    }
    CHECK(end.is_over);
    CHECK(end.error == nullptr);
    CHECK((end.status == sg::Status::cancelled));
    CHECK_FALSE(has_returned);
    may_return = true;
    await([&] { return has_returned.load(); });
    CHECK(app.getState({.thread_id = "t"}).values.bar.empty());
}

TEST_CASE("many nodes are abandoned at a random moment, and each run ends once") {
    RunThreads threads(2, 1000);
    threads.open();
    const auto app = chainOf([](const State&) -> Update {
                         std::this_thread::sleep_for(200us);  // sleeps: work that takes time
                         return {};
                     }).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    std::vector<std::unique_ptr<RunEnd>> ends;
    std::vector<std::shared_ptr<sg::RunControl>> controls;
    for (int i = 0; i < 200; ++i) {
        ends.push_back(std::make_unique<RunEnd>());
        controls.push_back(std::make_shared<sg::RunControl>());
        threads.run(runs(app, stoppable(std::to_string(i), controls.back()), *ends.back()));
    }
    for (const auto& control : controls) {
        std::this_thread::sleep_for(100us);  // sleeps: the moment differs from round to round
        control->requestStop();
    }
    threads.join();
    for (const auto& end : ends) {
        CHECK(end->is_over);
        CHECK(end->error == nullptr);
        CHECK((end->status == sg::Status::done || end->status == sg::Status::cancelled));
    }
}

TEST_CASE("a node on such a thread that throws anything fails its run alone") {
    RunThreads threads(2, 8);
    threads.open();
    const auto app = chainOf([](const State& state) -> Update {
                         if (state.foo == "x") throw 7;
                         return {};
                     }).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    RunEnd first;
    RunEnd second;
    threads.run(runs(app, stoppable("a"), first));
    threads.run(runs(app, stoppable("b"), second));
    threads.join();
    CHECK(first.error != nullptr);
    CHECK(second.error != nullptr);
}

// AddressSanitizer's allocator does not support a fork while another thread uses it: the child may wait for ever for a
// lock that such a thread held.
#if !STATEGRAPH_WITH_TSAN && !STATEGRAPH_WITH_ASAN
TEST_CASE("a node that forks is executed in both processes, and its run continues in the parent alone") {
    std::atomic<int> child{-1};
    std::atomic<int> nodes{0};
    const auto app = chainOf(
                         [&](const State&) -> Update {
                             child = ::fork();
                             if (child == 0) std::atexit([] { ::_exit(0); });  // before what the tests have there
                             return {};
                         },
                         [&](const State&) -> Update {
                             if (child == 0) ::_exit(3);  // never
                             ++nodes;
                             return {};
                         })
                         .compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    RunThreads threads(1, 8);
    threads.open();
    RunEnd end;
    threads.run(runs(app, stoppable("t"), end));
    threads.join();
    CHECK(nodes == 1);
    CHECK(end.error == nullptr);
    REQUIRE(child > 0);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) != 3);
}
#endif
