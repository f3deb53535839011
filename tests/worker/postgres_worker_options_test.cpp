// The queues, graphs and options of a worker.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/answer.hpp>
#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "tests/worker/worker_helper.hpp"
#if STATEGRAPH_HAS_ENCRYPTION
#include "tests/support/encryption.hpp"
#endif

using namespace worker_tests;

TEST_CASE("queues share a worker's slots by their limits, and a queue that it does not serve is left alone") {
    Place on;
    std::atomic<int> slow{0};
    std::atomic<int> most{0};
    Running running(on, quick({.queues = {{.name = "slow", .limit = 1}, {.name = "fast", .weight = 3}}, .slots = 4}));
    running.add("graph", [&](const Counted& state, sg::Runtime&) {
        if (state.input != 1) return;
        most = std::max(most.load(), ++slow);
        std::this_thread::sleep_for(5ms);
        --slow;
    });
    for (int i = 0; i < 4; ++i) {
        on.submit("slow " + std::to_string(i), 1, "graph", 2, "slow");
        on.submit("fast " + std::to_string(i), 2, "graph", 2, "fast");
    }
    on.submit("nobody's", 3, "graph", 1, "nobody's");
    on.submit("another graph's", 3, "another graph", 1, "fast");
    running.start();
    for (int i = 0; i < 4; ++i) {
        on.awaitGone("slow " + std::to_string(i));
        on.awaitGone("fast " + std::to_string(i));
    }
    CHECK(most == 1);
    CHECK(on.queue.find("nobody's")->attempts == 0);
    CHECK(on.queue.find("another graph's")->attempts == 0);
}

TEST_CASE("a worker has graphs of several types of state, and takes inputs of each by its name") {
    Place on;
    Running running(on, quick());
    running.add("counts");
    sg::JsonSchema schema;
    schema.channel("text").channel("texts", sg::JsonReducer::append());
    sg::StateGraph<sg::JsonState> graph(schema);
    graph.addNode("note", [](const sg::JsonState& state) {
        return sg::Update<sg::JsonState>::of({{"texts", boost::json::array{state.at("text")}}});
    });
    graph.addEdge(sg::START, "note").addEdge("note", sg::END);
    const auto notes = graph.compile({.checkpointer = running.saver});
    running.worker.add("notes", notes);
    running.start();
    on.submit("c", 1, "counts");
    (void)on.queue.submit({.thread_id = "n", .graph = "notes", .input = sg::parseJson(R"({"text": "a"})")});
    (void)on.queue.submit({.thread_id = "n", .graph = "notes", .input = sg::parseJson(R"({"text": "b"})")});
    on.awaitGone("c");
    on.awaitGone("n");
    CHECK(on.log("c") == logOf({1}));
    CHECK(notes.getState({.thread_id = "n"}).values.at("texts") == boost::json::array{"a", "b"});
}

TEST_CASE("a worker's impossible options are errors that name them") {
    Place on;
    const auto said = [&](sg::WorkerOptions options) {
        return postgres_tests::postgresError([&] {
            sg::Worker worker(std::make_shared<sg::LeasedSaver>(on.saver), std::move(options));
            worker.run();
        });
    };
    using postgres_tests::has;
    CHECK(has(said({}), "the worker has no graph; call add first"));
    CHECK(has(said({.queues = {}}), "WorkerOptions::queues is empty"));
    CHECK(has(said({.queues = {{"a"}, {"a"}}}), "has 'a' twice"));
    CHECK(has(said({.queues = {{"a", 0}}}), "'a' with weight 0; it must be 1 to 1000"));
    CHECK(has(said({.queues = {{"a", 1, 0}}}), "'a' with limit 0"));
    CHECK(has(said({.slots = 0}), "WorkerOptions::slots is 0; it must be 1 to 1000"));
    CHECK(has(said({.lease = 10ms}), "WorkerOptions::lease is 10 ms; it must be 1000 to"));
    CHECK(has(said({.poll_interval = 0ms}), "WorkerOptions::poll_interval is 0 ms"));
    CHECK(has(said({.attempts_max = 0}), "WorkerOptions::attempts_max is 0"));
    CHECK(has(said({.backoff = -1ms}), "WorkerOptions::backoff is -1 ms"));
    CHECK(has(said({.drain_timeout = -1ms}), "WorkerOptions::drain_timeout is -1 ms"));
    CHECK(has(said({.name = std::string(256, 'n')}), "WorkerOptions::name has 256 bytes"));
    CHECK_THROWS_AS(sg::Worker(nullptr), sg::InvalidArgumentError);
    Running running(on, quick());
    running.add("graph");
    CHECK_THROWS_AS(running.add("graph"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(running.add(""), sg::InvalidArgumentError);
    running.worker.stop();
    running.worker.run();
    CHECK_THROWS_AS(running.worker.run(), sg::InvalidArgumentError);
    CHECK_THROWS_AS(running.add("late"), sg::InvalidArgumentError);
}

#if STATEGRAPH_HAS_ENCRYPTION
TEST_CASE("a worker runs graphs whose saver encrypts around its own") {
    Place on;
    Running running(on, quick());
    const auto encrypted = std::make_shared<sg::EncryptedSaver>(running.saver, encryption::key("k"));
    const auto app = countingGraph({.checkpointer = encrypted}, [](const Counted& state, sg::Runtime& runtime) {
        if (state.n == 2) (void)sg::interrupt<std::string>(runtime, "go on?");
    });
    running.worker.add("graph", app, {.saver = encrypted});
    running.start();
    on.submit("t", 1);
    on.awaitState("t", sg::WorkState::waits);
    sg::EncryptedSaver outside(on.saver, encryption::key("k"));
    (void)sg::answer(outside, {.thread_id = "t"}, sg::Value("yes"));
    on.awaitGone("t");
    CHECK(app.getState({.thread_id = "t"}).values.log == logOf({1}));
}
#endif

TEST_CASE("many slots share few connections: what they store at the same time goes in one statement") {
    for (const auto durability : {sg::Durability::async, sg::Durability::sync}) {
        CAPTURE(static_cast<int>(durability));
        Place on({.connections_max = 4});
        constexpr int threads = 150;
        std::vector<sg::QueuedInput> inputs;
        for (int i = 0; i < threads; ++i)
            inputs.push_back({.thread_id = "thread " + std::to_string(i), .graph = "graph", .input = inputOf(i)});
        (void)on.queue.submit(inputs);
        Running running(on, quick({.slots = 32, .lease = 30s}));
        running.add("graph", {}, {.config = {.durability = durability}});
        running.start();
        on.await([&] { return running.worker.metrics().finished == threads; });
        const sg::WorkerMetrics metrics = running.worker.metrics();
        CHECK(metrics.retried == 0);
        CHECK(metrics.leases_lost == 0);
        CHECK(on.saver->joinedPuts() > 0);
        for (int i = 0; i < threads; ++i) CHECK(on.log("thread " + std::to_string(i)) == logOf({i}));
    }
}

TEST_CASE("a worker that has claimed newer threads still finds one that became due in the past") {
    Place on;
    Running running(on, quick());
    running.add("graph").start();
    for (int round = 1; round <= 3; ++round) {
        const std::string old = "old " + std::to_string(round);
        on.submit("new", round);
        on.awaitGone("new");
        // As a transaction leaves it that began an hour before it ended.
        postgres_tests::Raw().run("INSERT INTO " + on.schema.name() +
                                  ".work (thread, queue, graph, due, state) VALUES ('" + old +
                                  "', 'default', 'graph', now() - interval '1 hour', 1)");
        on.awaitGone(old);
    }
    CHECK(running.worker.metrics().finished == 6);
}
