// Threads whose workers died, locked rows, and graphs that no worker has: what a worker does about them.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "tests/support/enough_time.hpp"
#include "tests/worker/worker_helper.hpp"

using namespace worker_tests;

namespace {

std::string nameOf(int number) { return "t" + std::to_string(number); }

/// Says that a worker died while it had all threads.
void killTheirWorker(Place& on, const std::string& together) {
    postgres_tests::Raw().run("UPDATE " + on.schema.name() +
                              ".work SET epoch = 1, worker = 'dead', due = now(), together = " + together);
}

}  // namespace

TEST_CASE("a worker runs threads whose worker died a few at a time, and others only when these are done") {
    Place on;
    constexpr int threads = 8;
    for (int i = 0; i < threads; ++i) on.submit(nameOf(i), 1, "graph", 2);
    killTheirWorker(on, "8");
    on.submit("fresh", 1, "graph", 2);
    std::mutex mutex;
    std::map<std::string, int> runs;
    std::set<std::string> inside;
    std::size_t most = 0;
    Running running(on, quick({.slots = 16}));
    // A thread is inside from its first node to its second one, which is its last.
    running.add("graph", [&](const Counted&, sg::Runtime& runtime) {
        const std::lock_guard lock(mutex);
        const std::string name(runtime.threadId());
        inside.insert(name);
        most = std::max(most, inside.size());
        if (++runs[name] == 2) inside.erase(name);
    });
    running.start();
    on.await([&] { return on.queue.stats().empty(); });
    running.stop();
    CHECK(most <= 2);
    for (int i = 0; i < threads; ++i) CHECK(runs[nameOf(i)] == 2);
    CHECK(runs["fresh"] == 2);
    CHECK(running.worker.metrics().set_aside == 0);
}

TEST_CASE("a thread that must run alone, and has waited for a lease, waits for what its worker runs") {
    Place on;
    on.submit("long", 1, "graph", 1);
    std::mutex mutex;
    std::condition_variable changed;
    bool may_end = false;
    bool has_begun = false;
    std::atomic<bool> were_together{false};
    Running running(on, quick({.slots = 4}));
    running.add("graph", [&](const Counted&, sg::Runtime& runtime) {
        std::unique_lock lock(mutex);
        if (runtime.threadId() != "long") {
            if (!may_end) were_together = true;
            return;
        }
        has_begun = true;
        changed.notify_all();
        changed.wait(lock, [&] { return may_end; });
    });
    running.start();
    {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return has_begun; });
    }
    // Made overdue in a queue that nobody serves, so that no worker takes it before.
    on.submit("apart", 1, "graph", 1, "elsewhere");
    postgres_tests::Raw().run("UPDATE " + on.schema.name() +
                              ".work SET epoch = 1, worker = 'dead', due = now() - interval '1 hour', together = 1, "
                              "queue = 'default' WHERE thread = 'apart'");
    were_together = false;
    on.await([&] { return on.queue.find("apart")->worker != "dead"; });
    CHECK_FALSE(were_together);
    {
        const std::lock_guard lock(mutex);
        may_end = true;
    }
    changed.notify_all();
    on.awaitGone("apart");
    on.awaitGone("long");
    CHECK_FALSE(were_together);
}

TEST_CASE("a locked row ends the run of its thread alone, is reported, and the thread goes on when the row is free") {
    // The lease of the other thread must last until the run ends, although the machine may pause the worker.
    CHECK(withEnoughTime(1s, [](std::chrono::milliseconds lease) {
        Place on;
        std::mutex mutex;
        std::condition_variable changed;
        bool may_end = false;
        std::map<std::string, int> runs;
        std::atomic<int> errors{0};
        std::atomic<int> lost{0};
        sg::WorkerOptions options = quick({.slots = 8, .lease = lease});
        options.on_error = [&](const std::exception_ptr& error) {
            try {
                std::rethrow_exception(error);
            } catch (const sg::Error& said) {
                if (said.message().find("the lease on thread 'locked' could not be renewed") != std::string::npos)
                    ++errors;
            }
        };
        options.on_left = [&](const sg::WorkerEvent& event) { lost += !event.outcome && event.thread_id == "locked"; };
        Running running(on, std::move(options));
        running.add("graph", [&](const Counted&, sg::Runtime& runtime) {
            std::unique_lock lock(mutex);
            ++runs[std::string(runtime.threadId())];
            changed.notify_all();
            changed.wait(lock, [&] { return may_end; });
        });
        for (const char* name : {"locked", "other"}) on.submit(name, 1, "graph", 1);
        running.start();
        {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return runs.size() == 2; });
        }
        postgres_tests::Raw raw;
        raw.run("BEGIN; SELECT 1 FROM " + on.schema.name() + ".work WHERE thread = 'locked' FOR UPDATE");
        on.await([&] { return errors > 0 || running.worker.metrics().leases_lost > 0; });
        {
            const std::lock_guard lock(mutex);
            may_end = true;
        }
        changed.notify_all();
        if (errors == 0) return false;  // a lease was lost before
        on.awaitGone("other");
        CHECK(on.queue.find("locked"));
        raw.run("ROLLBACK");
        on.awaitGone("locked");
        CHECK(on.log("locked") == logOf({1}, 1));
        running.stop();  // on_left has returned
        CHECK(lost > 0);
        return runs["other"] == 1;
    }));
}

TEST_CASE("a worker says that it is alive, cancels threads of graphs that it has not, and leaves the list at its end") {
    Place on;
    on.submit("begun", 1, "elsewhere");
    {
        Running running(on, quick());
        running.add("elsewhere", [](const Counted&, sg::Runtime& runtime) {
            (void)sg::interrupt<int>(runtime, "go on?", sg::Value(1));
        });
        running.start();
        on.awaitState("begun", sg::WorkState::waits);
    }
    CHECK(on.queue.workers().empty());
    on.submit("idle", 1, "elsewhere");
    Running running(on, quick({.slots = 3}));
    running.add("graph");
    running.start();
    on.await([&] { return on.queue.workers().size() == 1; });
    const auto worker = on.queue.workers().front();
    CHECK(worker.graphs == std::vector<std::string>{"graph"});
    CHECK(worker.queues == std::vector<std::string>{"default"});
    CHECK(worker.slots == 3);
    CHECK(worker.is_alive);
    CHECK((on.queue.find("idle")->standing == sg::QueueStanding::unserved));
    for (const char* name : {"idle", "begun"}) CHECK(on.queue.cancel(name));
    on.awaitGone("idle");
    on.awaitGone("begun");
    CHECK(on.saver->unfinishedThreads().empty());
}
