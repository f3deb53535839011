// The queues, graphs and options of a worker.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <limits>
#include <memory>
#include <stdexcept>
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

namespace {

std::string nameOf(int number) { return "t" + std::to_string(number); }

}  // namespace

TEST_CASE("queues share a worker's slots by their limits, and a queue that it does not serve is left alone") {
    Place on;
    std::atomic<int> slow{0};
    std::atomic<int> most{0};
    Running running(on, quick({.queues = {{.name = "slow", .limit = 1}, {.name = "fast", .weight = 3}}, .slots = 4}));
    running.add("graph", [&](const Counted& state, sg::Runtime&) {
        if (state.input != 1) return;
        most = std::max(most.load(), ++slow);
        std::this_thread::sleep_for(5ms);  // sleeps: work that takes time
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
        return postgres_tests::databaseError([&] {
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
    CHECK(has(said({.slots = 0}), "WorkerOptions::slots is 0; it must be 1 to 10000"));
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
        Running running(on, quick({.slots = 32, .lease = 10min}));
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

TEST_CASE(
    "names of threads may have any bytes; those of queues, graphs and workers that no queue can have are refused") {
    Place on;
    const std::vector<std::string> names{std::string("a\0b", 3),
                                         "\xff\xfe\xfd",
                                         "'; DROP SCHEMA public; --",
                                         "\\x00\n\t\r\"$1${S}{S}%s",
                                         "日本語",
                                         std::string(119, '\x80'),
                                         "{\"a\": 1}",
                                         " "};
    Running running(on, quick({.slots = 3}));
    running.add("graph");
    running.start();
    for (const std::string& name : names) on.submit(name, 1);
    for (const std::string& name : names) {
        CAPTURE(name);
        on.awaitGone(name);
        CHECK(on.log(name) == logOf({1}));
    }
    const auto said = [&](sg::WorkerOptions options) {
        return postgres_tests::databaseError(
            [&] { const sg::Worker worker(std::make_shared<sg::LeasedSaver>(on.saver), std::move(options)); });
    };
    using postgres_tests::has;
    const std::string zero("a\0b", 3);
    CHECK(has(said({.queues = {{zero}}}), "the name of a queue has 3 bytes"));
    CHECK(has(said({.queues = {{"\xff"}}}), "the name of a queue is not UTF-8"));
    CHECK(has(said({.name = zero}), "the name of a worker has 3 bytes"));
    CHECK(has(said({.name = "\xc3\x28"}), "the name of a worker is not UTF-8"));
    CHECK(has(said({.queues = {{"a", INT_MAX}}}), "with weight 2147483647"));
    CHECK(has(said({.queues = {{"a", -1}}}), "with weight -1"));
    CHECK(has(said({.slots = std::numeric_limits<std::size_t>::max()}), "it must be 1 to 10000"));
    Running other(on, quick());
    CHECK_THROWS_AS(other.add(zero), sg::InvalidArgumentError);
    CHECK_THROWS_AS(other.add("\xff"), sg::InvalidArgumentError);
    CHECK_THROWS_AS((void)on.queue.submit({.thread_id = "t", .graph = "\xff", .input = inputOf(1)}),
                    sg::InvalidArgumentError);
}

TEST_CASE("a worker with its options at their limits works and ends") {
    Place on;
    sg::WorkerOptions options{.name = std::string(255, 'w'), .slots = 10'000};
    options.queues.clear();
    for (int i = 0; i < 50; ++i)
        options.queues.push_back({"q" + std::to_string(i), i % 2 == 0 ? 1 : 1000, std::size_t{1} << 62U});
    options.lease = 24h;
    options.poll_interval = 1ms;
    options.attempts_max = INT_MAX;
    options.backoff = 0ms;
    options.backoff_max = 0ms;
    options.drain_timeout = 0ms;
    Running running(on, options);
    std::atomic<int> failures{0};
    running.add("graph", [&](const Counted& state, sg::Runtime&) {
        if (state.n == 0 && failures++ < 20) throw std::runtime_error("no luck");
    });
    running.start();
    for (int i = 0; i < 100; ++i) on.submit(nameOf(i), 1, "graph", 5, "q" + std::to_string(i % 50));
    for (int i = 0; i < 100; ++i) on.awaitGone(nameOf(i));
    running.stop();
    CHECK(running.worker.metrics().set_aside == 0);
}

TEST_CASE("a worker is stopped by its own node and by its own callback") {
    for (const bool by_node : {false, true}) {
        Place on;
        std::unique_ptr<Running> running;
        sg::WorkerOptions options = quick();
        options.on_left = [&](const sg::WorkerEvent&) {
            if (!by_node) running->worker.stop();
            (void)running->worker.metrics();
        };
        running = std::make_unique<Running>(on, options);
        running->add("graph", [&](const Counted&, sg::Runtime&) {
            if (by_node) running->worker.stop();
            (void)running->worker.queue().stats();
        });
        on.submit("t", 1);
        std::thread waiting([&] { running->worker.run(); });
        waiting.join();
        CHECK(running->worker.metrics().running == 0);
        CHECK(running->saver->held() == 0);
    }
}
