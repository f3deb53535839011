// SECONDS: 30
// How a worker handles threads: runs, questions, sleeps, failures, cancellations.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/answer.hpp>
#include <stategraph/control.hpp>
#include <stategraph/error.hpp>
#include <stategraph/fork.hpp>
#include <stategraph/unfinished.hpp>

#include "tests/support/enough_time.hpp"
#include "tests/support/until.hpp"
#include "tests/worker/worker_helper.hpp"

using namespace worker_tests;

TEST_CASE("a worker runs each input of each thread to its end, one after the other") {
    Place on;
    for (int input = 1; input <= 3; ++input) {
        for (int i = 0; i < 10; ++i) on.submit("t" + std::to_string(i), input);
    }
    Running running(on, quick({.slots = 4, .lease = 10min}));
    std::mutex mutex;
    std::multiset<std::string> under_way;
    std::atomic<int> most{0};
    running.add("graph", [&](const Counted&, sg::Runtime& runtime) {
        const std::lock_guard lock(mutex);
        most = std::max(most.load(), static_cast<int>(running.worker.metrics().running));
        (void)runtime;
    });
    running.start();
    for (int i = 0; i < 10; ++i) {
        on.awaitGone("t" + std::to_string(i));
        CHECK(on.log("t" + std::to_string(i)) == logOf({1, 2, 3}));
    }
    running.stop();
    CHECK(running.worker.metrics().finished == 30);
    CHECK(running.worker.metrics().claimed == 30);
    CHECK(running.worker.metrics().running == 0);
    CHECK(running.worker.metrics().leases_lost == 0);
    CHECK(most >= 1);
    CHECK(most <= 4);
    CHECK(running.saver->held() == 0);
    CHECK(on.queue.stats().empty());
}

TEST_CASE("a thread that asks leaves its slot, and an answer from anywhere continues it") {
    Place on;
    Running running(on, quick({.slots = 1}));
    running.add("graph", [](const Counted& state, sg::Runtime& runtime) {
        if (state.input != 1 || state.n != 2) return;
        const auto answer = sg::interrupt<std::string>(runtime, "go on?");
        CHECK(answer == "yes");
    });
    running.start();
    on.submit("asks", 1);
    on.awaitState("asks", sg::WorkState::waits);
    CHECK(on.log("asks") == std::vector<int>{101, 102});
    on.submit("asks", 2);  // this input waits for the answer too
    on.submit("other", 3);
    on.awaitGone("other");
    CHECK(on.log("other") == logOf({3}));
    CHECK((on.queue.find("asks")->state == sg::WorkState::waits));
    CHECK(on.queue.find("asks")->inputs == 1);
    // When the thread is woken without an answer, the worker runs it and it asks again.
    CHECK(on.queue.wake("asks"));
    on.await([&] { return running.worker.metrics().waiting >= 2; });
    on.awaitState("asks", sg::WorkState::waits);

    CHECK(sg::answer(*on.saver, {.thread_id = "asks"}, sg::Value("yes")).empty());
    on.awaitGone("asks");
    CHECK(on.log("asks") == logOf({1, 2}));
}

TEST_CASE("a thread that sleeps leaves its slot until its wake time") {
    Place on;
    std::atomic<std::chrono::milliseconds> time{1s};
    Running running(on, quick({.slots = 1}));
    running.add("graph", [&](const Counted& state, sg::Runtime& runtime) {
        if (state.input == 1 && state.n == 1) runtime.sleepUntil(std::chrono::system_clock::now() + time.load());
    });
    running.start();
    CHECK(withEnoughTime(1s, [&](std::chrono::milliseconds limit) {
        time = limit;
        const std::string name = "sleeps " + std::to_string(limit.count());
        on.submit(name, 1);
        // A busy machine may look only after the thread has slept.
        std::optional<sg::QueuedThread> found;
        on.await([&] {
            found = on.queue.find(name);
            return !found || (found->state == sg::WorkState::sleeping && found->epoch == 0);
        });
        if (found) CHECK(found->due.has_value());
        on.submit("other", 2);
        on.awaitGone("other");
        on.awaitGone(name);
        CHECK(on.log(name) == logOf({1}));
        return running.worker.metrics().sleeping >= 1;  // a sleep whose time has passed before it begins is none
    }));
}

TEST_CASE("a run that fails is tried again, and set aside with its error when it has failed too often") {
    Place on;
    std::atomic<int> failures_left{2};
    std::atomic<bool> is_broken{true};
    std::mutex mutex;
    std::vector<std::string> errors;
    Running running(on, quick({.attempts_max = 3, .on_left = [&](const sg::WorkerEvent& event) {
                                   const std::lock_guard lock(mutex);
                                   if (!event.error.empty()) errors.push_back(event.error);
                                   throw std::runtime_error("is ignored");
                               }}));
    running.add("graph", [&](const Counted& state, sg::Runtime&) {
        if (state.input == 1 && state.n == 1 && failures_left-- > 0) throw std::runtime_error("no luck");
        if (state.input == 2 && state.n == 3 && is_broken) throw std::runtime_error("poison");
    });
    running.start();
    on.submit("unlucky", 1);
    on.awaitGone("unlucky");
    CHECK(on.log("unlucky") == logOf({1}));
    CHECK(running.worker.metrics().retried == 2);

    on.submit("poison", 2);
    on.await([&] { return !on.queue.setAside().empty(); });
    const sg::QueuedThread aside = on.queue.setAside().at(0);
    CHECK(aside.thread_id == "poison");
    CHECK(aside.attempts == 3);
    CHECK(postgres_tests::has(aside.error, "poison"));
    CHECK(postgres_tests::has(aside.error, "step"));
    CHECK(on.log("poison") == std::vector<int>{201, 202, 203});
    on.submit("poison", 3);
    CHECK(on.queue.find("poison")->is_set_aside);
    is_broken = false;
    CHECK(on.queue.retry("poison"));
    on.awaitGone("poison");
    CHECK(on.log("poison") == logOf({2, 3}));
    CHECK(running.worker.metrics().set_aside == 1);
    running.stop();  // on_left has returned
    const std::lock_guard lock(mutex);
    CHECK(errors.size() == 6);  // the first attempt on the failing input made progress
}

TEST_CASE("a thread that was set aside and mended by a fork continues after retry, and takes its next input") {
    Place on;
    std::atomic<bool> is_broken{true};
    Running running(on, quick({.attempts_max = 2}));
    running.add("graph", [&](const Counted& state, sg::Runtime&) {
        if (state.n == 3 && is_broken) throw std::runtime_error("poison");
    });
    running.start();
    on.submit("t", 1);
    on.await([&] { return !on.queue.setAside().empty(); });
    is_broken = false;
    (void)sg::fork(*on.saver, {.thread_id = "t"});
    CHECK(on.queue.retry("t"));
    on.submit("t", 2);
    on.awaitGone("t");
    CHECK(on.log("t") == logOf({1, 2}));
}

TEST_CASE("an input that the graph cannot take, and a run into its limit, are set aside and not lost") {
    Place on;
    Running running(on, quick({.attempts_max = 2}));
    running.add("graph", {}, {.config = {.recursion_limit = 3}});
    running.start();
    const sg::Receipt bad =
        on.queue.submit({.thread_id = "bad", .graph = "graph", .input = sg::parseJson(R"({"unknown": 1})")});
    on.submit("bad", 1, "graph", 2);
    on.submit("long", 1);
    on.await([&] { return on.queue.setAside().size() == 2; });
    CHECK(on.queue.find("bad")->inputs == 2);
    CHECK(postgres_tests::has(on.queue.find("bad")->error, "unknown"));
    CHECK(postgres_tests::has(on.queue.find("long")->error, "recursion_limit"));
    CHECK(on.queue.withdraw("bad", bad.number));
    CHECK(on.queue.retry("bad"));
    on.awaitGone("bad");
    CHECK(on.log("bad") == logOf({1}, 2));
    CHECK(on.log("long").size() == 3);
    CHECK(on.queue.retry("long"));
    on.awaitGone("long");
    CHECK(on.log("long") == logOf({1}));
}

TEST_CASE("a cancel from anywhere ends a run under way, a question and what waits, and is stored") {
    Place on;
    std::atomic<bool> is_in_node{false};
    Running running(on, quick());
    auto options = quick();
    running.add("graph", [&](const Counted& state, sg::Runtime& runtime) {
        if (state.input == 1) {
            is_in_node = true;
            patience::until([&] { return runtime.stopRequested(); });
        }
        if (state.input == 2) (void)sg::interrupt<std::string>(runtime, "go on?");
    });
    running.start();
    on.submit("runs", 1);
    on.await([&] { return is_in_node.load(); });
    on.submit("runs", 7);
    CHECK(on.queue.cancel("runs"));
    on.awaitGone("runs");
    on.submit("asks", 2);
    on.awaitState("asks", sg::WorkState::waits);
    CHECK(on.queue.cancel("asks"));
    on.awaitGone("asks");
    CHECK(running.worker.metrics().cancelled == 2);
    CHECK(on.saver->unfinishedThreads().empty());
    CHECK(on.log("runs").empty());
    CHECK_FALSE(on.queue.cancel("runs"));
    on.submit("asks", 3);  // continues the thread
    on.awaitGone("asks");
    CHECK(on.log("asks") == logOf({3}));
}

TEST_CASE("a worker whose version of the graph cannot resume a thread leaves it to one that can") {
    Place on;
    std::atomic<bool> asks{true};
    const auto ask = [&](const Counted& state, sg::Runtime& runtime) {
        if (state.n == 2 && asks) (void)sg::interrupt<std::string>(runtime, "go on?");
    };
    {
        Running old(on, quick());
        old.add("graph", ask);
        old.start();
        on.submit("t", 1);
        on.awaitState("t", sg::WorkState::waits);
    }
    asks = false;
    Running other(on, quick());
    sg::StateGraph<Counted> renamed;
    renamed.addNode("renamed", [](const Counted&) -> sg::Update<Counted> { return {}; });
    renamed.addEdge(sg::START, "renamed").addEdge("renamed", sg::END);
    other.worker.add("graph", renamed.compile({.checkpointer = other.saver}));
    other.start();
    (void)sg::answer(*on.saver, {.thread_id = "t"}, sg::Value("yes"));
    on.await([&] { return other.worker.metrics().refused == 1; });
    on.await([&] { return !on.queue.find("t")->error.empty(); });
    CHECK(postgres_tests::has(on.queue.find("t")->error, "this graph has no such node"));
    on.submit("u", 1);  // the worker can run other threads of the graph
    on.awaitGone("u");
    CHECK(other.worker.metrics().refused == 1);
    CHECK(on.queue.find("t"));

    Running same(on, quick());
    same.add("graph", ask);
    same.start();
    on.awaitGone("t");
    CHECK(on.log("t") == logOf({1}));
}

TEST_CASE("a worker that is stopped ends runs after their superstep, and others continue them") {
    Place on;
    std::atomic<bool> is_in_node{false};
    Running first(on, quick({.slots = 1}));
    first.add("graph", [&](const Counted& state, sg::Runtime& runtime) {
        if (state.input != 1 || state.n != 1) return;
        is_in_node = true;
        patience::until([&] { return runtime.drainRequested(); });
    });
    first.start();
    on.submit("t", 1);
    on.submit("waits for a slot", 2);
    on.await([&] { return is_in_node.load(); });
    first.stop();
    CHECK(first.worker.metrics().given_back == 1);
    CHECK(on.log("t") == std::vector<int>{101, 102});
    CHECK(on.queue.find("t")->epoch == 0);

    Running second(on, quick());
    second.add("graph");
    second.start();
    on.awaitGone("t");
    on.awaitGone("waits for a slot");
    CHECK(on.log("t") == logOf({1}));
}

TEST_CASE("a node that does not end when its worker is stopped is abandoned, and its superstep is done again") {
    Place on;
    std::atomic<bool> is_in_node{false};
    auto may_go_on = std::make_shared<std::atomic<bool>>(false);
    {
        sg::WorkerOptions options = quick();
        options.drain_timeout = 0ms;
        Running first(on, options);
        first.add("graph", [&is_in_node, may_go_on](const Counted& state, sg::Runtime&) {
            if (state.n != 1) return;
            is_in_node = true;
            patience::until([&]() -> bool { return *may_go_on; });
        });
        first.start();
        on.submit("t", 1);
        on.await([&] { return is_in_node.load(); });
        first.stop();
        CHECK(first.worker.metrics().given_back == 1);
    }
    Running second(on, quick());
    second.add("graph");
    second.start();
    on.awaitGone("t");
    CHECK(on.log("t") == logOf({1}));
    *may_go_on = true;
}

TEST_CASE("a worker that loses a lease stops that run, stores nothing of it, and runs the others") {
    Place on;
    std::atomic<bool> is_in_node{false};
    std::atomic<bool> was_stopped{false};
    std::mutex mutex;
    std::vector<sg::WorkerEvent> events;
    Running running(on, quick({.on_left = [&](const sg::WorkerEvent& event) {
                        const std::lock_guard lock(mutex);
                        events.push_back(event);
                    }}));
    running.add("graph", [&](const Counted& state, sg::Runtime& runtime) {
        if (state.input != 1 || state.n != 1) return;
        is_in_node = true;
        // A function that a node registers may call the worker.
        const std::stop_callback stopped(sg::stopToken(runtime), [&] { (void)running.worker.metrics(); });
        patience::until([&] { return runtime.stopRequested(); });
        was_stopped = true;
    });
    running.start();
    on.submit("t", 1);
    // The superstep before it may be stored while the node runs.
    on.await([&] { return is_in_node && on.log("t").size() == 1; });
    postgres_tests::Raw().run("UPDATE " + on.schema.name() + ".work SET epoch = nextval('" + on.schema.name() +
                              ".epochs'), due = now() + interval '1 hour', worker = 'another'");
    on.await([&] { return running.worker.metrics().leases_lost == 1; });
    on.submit("other", 2);
    on.awaitGone("other");
    on.await([&] { return was_stopped.load(); });
    running.stop();
    CHECK(on.log("t") == std::vector<int>{101});
    CHECK(on.queue.find("t")->worker == "another");
    const std::lock_guard lock(mutex);
    REQUIRE(events.size() == 2);
    CHECK(std::ranges::count_if(events, [](const auto& event) { return !event.outcome; }) == 1);
}
