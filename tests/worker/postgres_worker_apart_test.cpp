// Threads whose workers died, locked rows, and graphs that no worker has: what a worker does about them.
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "tests/support/enough_time.hpp"
#include "tests/support/gate.hpp"
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
    gates::Gate has_begun;
    gates::Gate may_end;
    std::atomic<bool> is_long_done{false};
    std::atomic<bool> were_together{false};
    Running running(on, quick({.slots = 4}));
    running.add("graph", [&](const Counted&, sg::Runtime& runtime) {
        if (runtime.threadId() != "long") {
            if (!is_long_done) were_together = true;
            return;
        }
        has_begun.open();
        may_end.wait();
        is_long_done = true;
    });
    running.start();
    REQUIRE(has_begun.wait());
    // Made overdue in a queue that nobody serves, so that no worker takes it before.
    on.submit("apart", 1, "graph", 1, "elsewhere");
    postgres_tests::Raw().run("UPDATE " + on.schema.name() +
                              ".work SET epoch = 1, worker = 'dead', due = now() - interval '1 hour', together = 1, "
                              "queue = 'default' WHERE thread = 'apart'");
    on.await([&] { return on.queue.find("apart")->worker != "dead"; });
    may_end.open();
    on.awaitGone("apart");
    on.awaitGone("long");
    CHECK_FALSE(were_together);
}

TEST_CASE("a locked row ends the run of its thread alone, is reported, and the thread goes on when the row is free") {
    // The lease of the other thread must last until the run ends, although the machine may pause the worker.
    CHECK(withEnoughTime(1s, [](std::chrono::milliseconds lease) {
        Place on;
        // Shared with nodes that are abandoned, and may end after this.
        struct Nodes {
            std::mutex mutex;
            std::map<std::string, int> runs;
            gates::Gate may_end;
        };
        const auto nodes = std::make_shared<Nodes>();
        const auto runsOf = [nodes](const std::string& name) {
            const std::lock_guard lock(nodes->mutex);
            return nodes->runs[name];
        };
        std::atomic<int> errors{0};
        std::atomic<int> lost{0};
        std::atomic<int> others_lost{0};
        sg::WorkerOptions options = quick({.slots = 8, .lease = lease});
        options.on_error = [&](const std::exception_ptr& error) {
            try {
                std::rethrow_exception(error);
            } catch (const sg::Error& said) {
                if (said.message().find("the lease on thread 'locked' could not be renewed") != std::string::npos)
                    ++errors;
            }
        };
        options.on_left = [&](const sg::WorkerEvent& event) {
            if (!event.outcome) ++(event.thread_id == "locked" ? lost : others_lost);
        };
        Running running(on, std::move(options));
        running.add("graph", [nodes](const Counted&, sg::Runtime& runtime) {
            {
                const std::lock_guard lock(nodes->mutex);
                ++nodes->runs[std::string(runtime.threadId())];
            }
            nodes->may_end.wait();
        });
        for (const char* name : {"locked", "other"}) on.submit(name, 1, "graph", 1);
        running.start();
        const auto isAnyLost = [&] { return running.worker.metrics().leases_lost > 0; };
        // After a lost lease a thread is run apart from others, so that the two would not be together any more.
        on.await([&] { return (runsOf("locked") > 0 && runsOf("other") > 0) || isAnyLost(); });
        postgres_tests::Raw raw;
        raw.run("BEGIN; SELECT 1 FROM " + on.schema.name() + ".work WHERE thread = 'locked' FOR UPDATE");
        const bool was_early = isAnyLost();
        if (!was_early) on.await([&] { return errors > 0 || others_lost > 0; });
        nodes->may_end.open();
        if (was_early || errors == 0) return false;
        on.awaitGone("other");
        CHECK(on.queue.find("locked"));
        raw.run("ROLLBACK");
        on.awaitGone("locked");
        CHECK(on.log("locked") == logOf({1}, 1));
        running.stop();  // on_left has returned
        CHECK(lost > 0);
        return runsOf("other") == 1;
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
