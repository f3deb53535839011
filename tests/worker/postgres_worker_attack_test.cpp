// SECONDS: 70
// ALSO PLAIN: it forks while threads run
// What users' code, names, options and moments can do to a worker: it continues, and says what was wrong.
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/control.hpp>
#include <stategraph/error.hpp>

#include "tests/support/helper_process.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/shared_threads.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/until.hpp"
#include "tests/worker/worker_helper.hpp"

using namespace worker_tests;
using helpers::given;
using helpers::Helper;

namespace {

std::string nameOf(int number) { return "t" + std::to_string(number); }

/// What no handler for std::exception catches.
struct Odd {
    int number;
};

/// Throws something else for each input.
void throwAnything(int input) {
    switch (input) {
        case 1:
            throw 1;
        case 2:
            throw "a pointer to characters";
        case 3:
            throw nullptr;
        case 4:
            throw Odd{4};
        case 5:
            throw std::string("a string");
        case 6:
            throw std::runtime_error(std::string("bytes \0 and \xff\xfe", 14));
        case 7:
            throw std::runtime_error(std::string(100'000, '\xe4'));
        case 8:
            throw sg::LeaseLostError("of the node's own");
        case 9:
            throw sg::CancelledError("of the node's own");
        default:
            throw std::bad_alloc();
    }
}

constexpr int kinds_of_errors = 10;

}  // namespace

TEST_CASE("whatever nodes and routers throw, their threads alone are tried again and set aside, and others finish") {
    Place on;
    sg::WorkerOptions options = quick({.slots = 4, .attempts_max = 2, .backoff_max = 20ms});
    // An error that says "the lease is lost" may be the node's own: then the lease runs out, here at once.
    options.on_left = [&](const sg::WorkerEvent& event) {
        if (event.outcome) return;
        postgres_tests::Raw().run("UPDATE " + on.schema.name() +
                                  ".work SET due = now() WHERE epoch <> 0 AND thread = '" + event.thread_id + "'");
    };
    Running running(on, options);
    running.add("graph", [](const Counted& state, sg::Runtime&) {
        if (state.input <= kinds_of_errors) throwAnything(state.input);
    });
    sg::StateGraph<Counted> routed;
    routed.addNode("step", [](const Counted& state) { return sg::add<&Counted::log>(state.input); })
        .addEdge(sg::START, "step")
        .addConditionalEdges("step", [](const Counted& state) {
            throwAnything(state.input);
            return sg::END;
        });
    running.worker.add("routed", routed.compile({.checkpointer = running.saver}));
    sg::StateGraph<Counted> awaited;
    awaited.addNode("step", [](const Counted& state) -> sg::Task<sg::Update<Counted>> {
        const int input = state.input;
        co_await sg::sleepFor(100us);
        throwAnything(input);
        co_return sg::Update<Counted>{};
    });
    awaited.addEdge(sg::START, "step").addEdge("step", sg::END);
    running.worker.add("awaited", awaited.compile({.checkpointer = running.saver}));
    running.start();
    const std::array<std::string, 3> graphs{"graph", "routed", "awaited"};
    for (int i = 1; i <= kinds_of_errors; ++i) {
        for (const std::string& graph : graphs) on.submit(graph + nameOf(i), i, graph);
        on.submit("good" + nameOf(i), 100 + i);
    }
    for (int i = 1; i <= kinds_of_errors; ++i) on.awaitGone("good" + nameOf(i));
    on.await([&] { return on.queue.setAside(100).size() >= graphs.size() * kinds_of_errors; });
    for (const sg::QueuedThread& each : on.queue.setAside(100)) {
        CAPTURE(each.thread_id);
        CHECK_FALSE(each.error.empty());
        CHECK(each.epoch == 0);
    }
    running.stop();
    CHECK(running.worker.metrics().running == 0);
    CHECK(running.saver->held() == 0);
}

TEST_CASE("an input that is not of the graph's type sets its thread aside, and says what is wrong") {
    Place on;
    Running running(on, quick({.attempts_max = 2, .backoff_max = 20ms}));
    running.add("graph");
    running.start();
    int number = 0;
    for (const char* input : {"1", "null", "[]", R"("text")", R"({"n": "no number"})", R"({"unknown": 1})",
                              R"({"n": 1e300})", R"({"log": {"a": 1}})"}) {
        (void)on.queue.submit({.thread_id = nameOf(++number), .graph = "graph", .input = sg::parseJson(input)});
    }
    on.submit("good", 1);
    on.awaitGone("good");
    on.await([&] { return static_cast<int>(on.queue.setAside(100).size()) == number; });
    for (const sg::QueuedThread& each : on.queue.setAside(100)) CHECK_FALSE(each.error.empty());
}

TEST_CASE("nodes that never return neither keep a worker from other work, nor from ending") {
    Place on;
    std::atomic<int> stuck{0};
    const auto may_return = std::make_shared<std::atomic<bool>>(false);  // abandoned nodes may look after this
    {
        Running running(on, quick({.slots = 8, .drain_timeout = 50ms}));
        running.add("graph", [&stuck, may_return](const Counted& state, sg::Runtime&) {
            if (state.input != 1) return;
            ++stuck;
            patience::until([&]() -> bool { return *may_return; });  // it does not look whether it is to end
        });
        running.start();
        for (int i = 0; i < 7; ++i) on.submit(nameOf(i), 1);
        on.await([&] { return stuck == 7; });
        for (int i = 0; i < 20; ++i) on.submit("good" + nameOf(i), 2);
        for (int i = 0; i < 20; ++i) on.awaitGone("good" + nameOf(i));
        // A cancelled one leaves its slot, though its node stays.
        CHECK(on.queue.cancel(nameOf(0)));
        on.awaitGone(nameOf(0));
        running.stop();
        CHECK(running.worker.metrics().running == 0);
        CHECK(running.saver->held() == 0);
    }
    for (int i = 1; i < 7; ++i) CHECK(on.queue.find(nameOf(i))->epoch == 0);
    Running other(on, quick());
    *may_return = true;
    other.add("graph");
    other.start();
    for (int i = 1; i < 7; ++i) {
        on.awaitGone(nameOf(i));
        CHECK(on.log(nameOf(i)) == logOf({1}));
    }
    CHECK(stuck == 7);
}

TEST_CASE("many slots whose nodes block are all used at once, and as many that wait need few threads") {
    constexpr int count = 100;
    Place on;
    Running running(on, quick({.slots = count, .lease = 10min}));
    std::atomic<int> inside{0};
    running.add("graph", [&](const Counted& state, sg::Runtime&) {
        if (state.n > 0) return;
        ++inside;
        patience::until([&] { return inside >= count; });
    });
    running.start();
    for (int i = 0; i < count; ++i) on.submit(nameOf(i), 1);
    for (int i = 0; i < count; ++i) on.awaitGone(nameOf(i));
    running.stop();
    CHECK(inside == count);
    CHECK(running.worker.metrics().finished == count);
}

TEST_CASE("two workers of the same name do not mistake each other's threads for their own") {
    Place on;
    const auto options = [] { return quick({.name = "the same", .slots = 3, .lease = 10min}); };
    Running first(on, options());
    Running second(on, options());
    first.add("graph");
    second.add("graph");
    first.start();
    second.start();
    for (int i = 0; i < 40; ++i) on.submit(nameOf(i), 1);
    first.stop();
    for (int i = 0; i < 40; ++i) on.submit(nameOf(i), 2);
    for (int i = 0; i < 40; ++i) on.awaitGone(nameOf(i));
    for (int i = 0; i < 40; ++i) CHECK(on.log(nameOf(i)) == logOf({1, 2}));
    second.stop();
    CHECK(first.worker.metrics().leases_lost + second.worker.metrics().leases_lost == 0);
}

TEST_CASE("inputs that come while workers drain, one after the other, are all done once") {
    Place on;
    constexpr int threads = 10;
    int input = 0;
    for (int worker = 0; worker < 6; ++worker) {
        Running running(on, quick({.slots = 4}));
        running.add("graph");
        running.start();
        std::thread submitting([&] {
            for (int k = 0; k < 3; ++k) {
                ++input;
                for (int i = 0; i < threads; ++i) on.submit(nameOf(i), input);
            }
        });
        // sleeps: the moment differs from round to round
        std::this_thread::sleep_for(std::chrono::milliseconds(5 * worker));
        running.stop();
        submitting.join();
    }
    Running last(on, quick());
    last.add("graph");
    last.start();
    std::vector<int> inputs;
    for (int i = 1; i <= input; ++i) inputs.push_back(i);
    for (int i = 0; i < threads; ++i) {
        on.awaitGone(nameOf(i));
        CHECK(on.log(nameOf(i)) == logOf(inputs));
    }
}

TEST_CASE("a put that takes longer than a lease is stored once, even if another worker claims the thread meanwhile") {
    Place on;
    // A busy machine may lose many leases of a second.
    Running first(on, quick({.name = "first", .lease = 1s, .attempts_max = 1000}));
    Running second(on, quick({.name = "second", .lease = 1s, .attempts_max = 1000}));
    // Shared with nodes that are abandoned, and may end after this.
    const auto is_locked = std::make_shared<std::atomic<bool>>(false);
    const auto was_there = std::make_shared<std::atomic<bool>>(false);
    const auto node = [is_locked, was_there](const Counted& state, sg::Runtime&) {
        if (state.n != 2) return;
        *was_there = true;
        patience::until([&]() -> bool { return *is_locked; });
    };
    first.add("graph", node);
    second.add("graph", node);
    first.start();
    second.start();
    on.submit("t", 1);
    on.await([&] { return was_there->load(); });
    {
        // As a backup or another client may: no commit can be stored meanwhile, and nothing be claimed of the thread.
        PGconn* const client = PQconnectdb(postgres_tests::conninfo().c_str());
        PQclear(PQexec(client, ("BEGIN; SELECT FROM \"" + on.schema.name() + "\".logs FOR UPDATE").c_str()));
        *is_locked = true;
        std::this_thread::sleep_for(3s);  // sleeps: longer than the lease
        PQclear(PQexec(client, "COMMIT"));
        PQfinish(client);
    }
    on.awaitGone("t");
    CHECK(on.log("t") == logOf({1}));
    std::set<std::string> ids;
    shared_threads::checkLine(*on.saver, "t", ids);
}

// AddressSanitizer's allocator does not support a fork while another thread uses it: the child may wait for ever for a
// lock that such a thread held.
#if !STATEGRAPH_WITH_TSAN && !STATEGRAPH_WITH_ASAN
TEST_CASE("a node that forks leaves its run to the parent process") {
    Place on;
    Running running(on, quick({.slots = 2}));
    std::mutex mutex;
    std::vector<pid_t> children;
    running.add("graph", [&](const Counted& state, sg::Runtime&) {
        if (state.n != 1) return;
        const std::lock_guard lock(mutex);
        const pid_t child = ::fork();
        if (child == 0) {
            std::atexit([] { ::_exit(0); });  // before what the tests have there
            return;                           // as a careless node would
        }
        children.push_back(child);
    });
    running.start();
    for (int i = 0; i < 5; ++i) on.submit(nameOf(i), 1);
    for (int i = 0; i < 5; ++i) {
        on.awaitGone(nameOf(i));
        CHECK(on.log(nameOf(i)) == logOf({1}));
    }
    running.stop();
    CHECK(children.size() == 5);
    CHECK(running.worker.metrics().retried == 0);
    for (const pid_t child : children) {
        int status = 0;
        CHECK(::waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status));
    }
}
#endif

TEST_CASE("helper: a worker that its own run destroys" * doctest::skip()) {
    const std::string schema = given("STATEGRAPH_TEST_DATABASE");
    if (schema.empty()) return;
    std::set_terminate([] { ::_exit(42); });
    const auto saver = std::make_shared<sg::LeasedSaver>(
        std::make_shared<sg::PostgresSaver>(postgres_tests::conninfo(), patient({.schema = schema})));
    std::unique_ptr<sg::Worker> worker;
    sg::WorkerOptions options = quick();
    options.on_left = [&](const sg::WorkerEvent&) { worker.reset(); };
    worker = std::make_unique<sg::Worker>(saver, options);
    worker->add("graph", countingGraph({.checkpointer = saver}));
    worker->run();
    ::_exit(1);
}

TEST_CASE("a worker that is destroyed while it runs terminates the program instead of using what is gone") {
    const TemporaryFolder folder;
    Place on;
    ::setenv("STATEGRAPH_TEST_POSTGRES", postgres_tests::conninfo().c_str(), 1);
    on.submit("t", 1);
    Helper helper("helper: a worker that its own run destroys", on.schema.name(), folder / "notes");
    CHECK(helper.wait() == 42);
}

TEST_CASE("an input that cannot be read sets its thread aside, and delays no other") {
    Place place;
    place.submit("bad", 1);
    postgres_tests::Raw raw;
    raw.run("UPDATE " + place.schema.name() + ".inputs SET input = '\\xffffff'");
    // It has been claimed as often as a number holds.
    place.submit("often", 1);
    raw.run("UPDATE " + place.schema.name() + ".work SET attempts = 2147483647 WHERE thread = 'often'");
    for (int number = 0; number < 5; ++number) place.submit(nameOf(number), 1);
    {
        Running running(place, quick({.lease = 1h}));
        running.add("graph");
        running.start();
        for (int number = 0; number < 5; ++number) place.awaitGone(nameOf(number));
        place.await([&] { return place.queue.setAside().size() == 2; });
        const auto bad = place.queue.find("bad");
        REQUIRE(bad);
        CHECK(bad->error.find("cannot be read") != std::string::npos);
        CHECK(bad->inputs == 1);
        // The error's advice works.
        const std::string number = raw.run("SELECT seq FROM " + place.schema.name() + ".inputs WHERE thread = 'bad'");
        CHECK(place.queue.withdraw("bad", std::stoll(number)));
        (void)place.queue.retry("bad");
        place.awaitGone("bad");
        place.submit("bad", 2);
        place.awaitGone("bad");
    }
    CHECK(place.log("bad") == logOf({2}));
    for (int number = 0; number < 5; ++number) CHECK(place.log(nameOf(number)) == logOf({1}));
}
