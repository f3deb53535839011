// A worker that is notified. It polls once an hour in these tests, so that what it does in time it does because it was
// notified; `woken` counts it.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include <stategraph/answer.hpp>
#include <stategraph/error.hpp>
#include <stategraph/postgres_listener.hpp>

#include "tests/support/until.hpp"
#include "tests/worker/worker_helper.hpp"

using namespace worker_tests;

namespace {

sg::PostgresSaverOptions notifying() { return {.notify = {.work = true, .interval = 1ms}}; }

sg::WorkerOptions listening(sg::WorkerOptions options = {}) {
    options.listen = true;
    options.poll_interval = 1h;
    options.lease = 1h;
    return options;
}

/// Returns when the worker has begun to listen: its first claim may find the first of these, but not the second one.
/// Notifications of both may come later.
void awaitListening(Place& on, const std::string& in = "default") {
    sg::PostgresQueue queue(on.schema.open(notifying()));
    for (const char* name : {"first", "second"}) {
        (void)queue.submit({.thread_id = name, .graph = "graph", .input = inputOf(0), .queue = in});
        on.awaitGone(name);
    }
}

}  // namespace

TEST_CASE("a worker that listens is woken by inputs and by answers") {
    Place on(notifying());
    Running running(on, listening());
    running.add("graph", [](const Counted& state, sg::Runtime& runtime) {
        if (state.input == 2 && state.n == 2) (void)sg::interrupt<std::string>(runtime, "go on?");
    });
    running.start();
    awaitListening(on);
    // Those that wait are sent as one.
    const auto awaitSent = [&](std::uint64_t number) { on.await([&] { return on.saver->notifications() >= number; }); };
    on.submit("a", 1);
    awaitSent(1);
    on.awaitGone("a");
    CHECK(on.log("a") == logOf({1}));
    on.submit("asks", 2);
    awaitSent(2);
    on.awaitState("asks", sg::WorkState::waits);
    CHECK(sg::answer(*on.saver, {.thread_id = "asks"}, sg::Value("yes")).empty());
    awaitSent(3);
    on.awaitGone("asks");
    CHECK(on.log("asks") == logOf({2}));
    const sg::WorkerMetrics metrics = running.worker.metrics();
    CHECK(metrics.woken >= 4);
    CHECK(metrics.claims <= 2 + 2 * metrics.woken);  // the first one, and one more each, for what came meanwhile
}

TEST_CASE("a program that gives work and one that does it agree on notifications by one option each") {
    const postgres_tests::Schema schema;
    const std::string database = postgres_tests::conninfo();
    (void)schema.open();
    // [begin notify]
    // where inputs are submitted, and answers given
    auto giving = std::make_shared<sg::PostgresSaver>(
        database, sg::PostgresSaverOptions{.schema = schema.name(), .notify = {.work = true}});
    sg::PostgresQueue queue(giving);

    // where they are worked on
    auto saver = std::make_shared<sg::LeasedSaver>(
        std::make_shared<sg::PostgresSaver>(database, sg::PostgresSaverOptions{.schema = schema.name()}));
    sg::Worker worker(saver, {.poll_interval = 5s, .listen = true});
    // [end notify]
    worker.add("graph", countingGraph({.checkpointer = saver}));
    std::thread thread([&] { worker.run(); });
    for (int i = 1; i <= 3; ++i) {
        (void)queue.submit({.thread_id = "t", .graph = "graph", .input = inputOf(i)});
        patience::until([&] { return !queue.find("t"); });
    }
    worker.stop();
    thread.join();
    CHECK(worker.metrics().finished == 3);
}

TEST_CASE("a worker that listens ends a cancelled run long before it would renew its lease") {
    Place on(notifying());
    std::atomic<bool> runs{false};
    Running running(on, listening());
    running.add("graph", [&](const Counted& state, sg::Runtime& runtime) {
        if (state.input == 0) return;
        runs = true;
        patience::until([&] { return runtime.stopRequested(); });
    });
    running.start();
    awaitListening(on);
    on.submit("t", 1);
    on.await([&] { return runs.load(); });
    CHECK(on.queue.cancel("t"));
    on.awaitGone("t");
    CHECK(running.worker.metrics().cancelled == 1);
}

TEST_CASE("a worker that listens does all by polling if nobody notifies it, or what is sent is lost") {
    Place on;
    Running running(on, quick({.poll_interval = 10ms, .listen = true}));
    running.add("graph");
    running.start();
    for (int i = 1; i <= 5; ++i) {
        on.submit("t" + std::to_string(i), i);
        on.awaitGone("t" + std::to_string(i));
        CHECK(on.log("t" + std::to_string(i)) == logOf({i}));
    }
    CHECK(running.worker.metrics().woken <= 1);  // it is woken when it begins to listen
    CHECK(on.saver->notifications() == 0);
}

TEST_CASE("a notification for a queue that a worker does not serve does not wake it") {
    Place on(notifying());
    Running mine(on, listening({.queues = {{.name = "mine"}}}));
    mine.add("graph").start();
    awaitListening(on, "mine");
    const auto before = mine.worker.metrics().claims;
    constexpr int rounds = 8;
    for (int i = 0; i < rounds; ++i) {
        on.submit("other", i, "graph", 5, "other");
        on.submit("mine", i, "graph", 5, "mine");
        on.awaitGone("mine");
    }
    // Each round has a claim that finds its thread and one that finds none; two are for what was notified before.
    CHECK(mine.worker.metrics().claims <= before + 2 * rounds + 2);
    CHECK(on.queue.find("other")->attempts == 0);
}

TEST_CASE("a worker whose listener loses its connection looks for work as soon as it listens again") {
    Place on;  // notifies nobody: only connecting again can wake the worker
    const std::string name = "worker_of_" + on.schema.name();
    const auto saver = std::make_shared<sg::PostgresSaver>(postgres_tests::conninfo() + " application_name=" + name,
                                                           sg::PostgresSaverOptions{.schema = on.schema.name()});
    std::atomic<int> errors{0};
    Running running(on, listening({.on_error = [&](const std::exception_ptr&) { ++errors; }}), saver);
    running.add("graph").start();
    awaitListening(on);
    on.submit("t", 1);
    const auto woken = running.worker.metrics().woken;
    postgres_tests::Raw().run(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '" + name + "'");
    on.awaitGone("t");
    CHECK(on.log("t") == logOf({1}));
    on.await([&] { return running.worker.metrics().woken > woken && errors >= 1; });
}

TEST_CASE("a worker over a pooler does not listen, and says why") {
    Place on;
    const std::shared_ptr<sg::PostgresSaver> pooled = on.schema.open({.prepared_statements = false});
    Running running(on, listening(), pooled);
    running.add("graph");
    const std::string said = postgres_tests::databaseError([&] { running.worker.run(); });
    POSTGRES_SAYS(said, "InvalidArgumentError: ");
    POSTGRES_SAYS(said, "pooler in transaction mode (prepared_statements is off), which passes on no notifications");
}
