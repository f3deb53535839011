// SECONDS: 30
// ALSO PLAIN: it fails or counts allocations
// Workers that are killed, frozen or disconnected, or have wrong clocks: nothing may be lost, and nothing may be done
// twice.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/answer.hpp>
#include <stategraph/id_source.hpp>

#include "tests/storage/postgres/postgres_proxy.hpp"
#include "tests/support/enough_time.hpp"
#include "tests/support/failing_new.hpp"
#include "tests/support/helper_process.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/shared_threads.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/worker/worker_helper.hpp"

using namespace worker_tests;
using helpers::awaitLines;
using helpers::given;
using helpers::Helper;

namespace {

sg::WorkerOptions stubborn(sg::WorkerOptions options = {}) {
    options = quick(std::move(options));
    options.lease = 1s;
    options.attempts_max = 1000;
    return options;
}

std::vector<std::string> linesOf(const std::filesystem::path& notes) {
    std::ifstream file(notes);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line) && !file.eof();) lines.push_back(line);
    return lines;
}

std::string nameOf(int number) { return "t" + std::to_string(number); }

/// Waits until the queue is empty; then the inputs of each thread must have been applied once, in one linear log.
void checkAll(Place& on, int threads, const std::vector<int>& inputs) {
    on.await([&] { return on.queue.stats().empty(); });
    for (int i = 0; i < threads; ++i) {
        CAPTURE(i);
        CHECK(on.log(nameOf(i)) == logOf(inputs));
        std::set<std::string> ids;
        shared_threads::checkLine(*on.saver, nameOf(i), ids);
        CHECK(ids.size() == inputs.size() * 7);  // the input, the superstep of START, and five supersteps
    }
    CHECK(on.queue.setAside().empty());
    CHECK(on.saver->unfinishedThreads().empty());
}

/// A clock that is wrong by a given time.
class WrongClock final : public sg::IdSource {
public:
    explicit WrongClock(std::chrono::seconds by) : by_(by) {}
    std::chrono::system_clock::time_point now() override { return sg::IdSource::system().now() + by_; }
    std::uint64_t uniqueBits() override { return sg::IdSource::system().uniqueBits(); }

private:
    std::chrono::seconds by_;
};

}  // namespace

// Notes what its nodes do, and which leases it has lost, until it is killed. A number from 1000 on is the lease in
// milliseconds of one that freezes once, in the middle of several threads; others are how long its nodes take.
TEST_CASE("helper: a worker" * doctest::skip()) {
    const std::string schema = given("STATEGRAPH_TEST_DATABASE");
    if (schema.empty()) return;
    const int number = std::stoi(given("STATEGRAPH_TEST_NUMBER"));
    const bool freezes = number >= 1000;
    const int pause = freezes ? 100 : number;
    std::atomic<int> did = 0;
    std::ofstream notes(given("STATEGRAPH_TEST_NOTES"), std::ios::app);
    std::mutex mutex;
    const auto note = [&](const std::string& line) {
        const std::lock_guard lock(mutex);
        notes << line + "\n" << std::flush;
    };
    const auto saver = std::make_shared<sg::LeasedSaver>(
        std::make_shared<sg::PostgresSaver>(postgres_tests::conninfo(), patient({.schema = schema})));
    sg::WorkerOptions options = stubborn({.slots = 4, .on_left = [&](const sg::WorkerEvent& event) {
                                              if (!event.outcome) note("lost " + event.thread_id);
                                          }});
    if (freezes) options.lease = std::chrono::milliseconds(number);
    sg::Worker worker(saver, options);
    worker.add("graph", countingGraph({.checkpointer = saver}, [&](const Counted& state, sg::Runtime&) {
                   std::this_thread::sleep_for(std::chrono::milliseconds(pause));  // sleeps: work that takes time
                   note("did " + std::to_string(state.input * 100 + state.n + 1));
                   if (freezes && ++did == 5) ::raise(SIGSTOP);
               }));
    worker.run();
}

TEST_CASE("workers are killed again and again, and every input of every thread is done once") {
    const TemporaryFolder folder;
    Place on;
    ::setenv("STATEGRAPH_TEST_POSTGRES", postgres_tests::conninfo().c_str(), 1);
    constexpr int threads = 24;
    const unsigned seed = tests::seed();
    CAPTURE(seed);
    std::minstd_rand random(seed);
    for (int input = 1; input <= 2; ++input) {
        for (int i = 0; i < threads; ++i) on.submit(nameOf(i), input);
    }
    std::vector<std::unique_ptr<Helper>> workers;
    const auto start = [&] {
        return std::make_unique<Helper>("helper: a worker", on.schema.name(), folder / "notes", 3);
    };
    for (int i = 0; i < 2; ++i) workers.push_back(start());
    awaitLines(folder / "notes", 5);
    for (int kill = 0; kill < 6; ++kill) {
        // sleeps: the moment differs from round to round
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 150));
        auto& one = workers[random() % workers.size()];
        one->kill();
        one = start();
    }
    checkAll(on, threads, {1, 2});
    CHECK(linesOf(folder / "notes").size() >= threads * 10);
}

TEST_CASE("a worker that was frozen for longer than its lease wakes to lost leases, and stores nothing") {
    CHECK(withEnoughTime(1s, [](std::chrono::milliseconds lease) {
        const TemporaryFolder folder;
        Place on;
        ::setenv("STATEGRAPH_TEST_POSTGRES", postgres_tests::conninfo().c_str(), 1);
        for (int i = 0; i < 4; ++i) on.submit(nameOf(i), 1);
        Helper frozen("helper: a worker", on.schema.name(), folder / "notes", static_cast<int>(lease.count()));
        frozen.awaitFrozen();
        const auto did = linesOf(folder / "notes").size();
        int held = 0;
        for (int i = 0; i < 4; ++i) {
            const auto thread = on.queue.find(nameOf(i));
            held += thread && thread->epoch != 0;
        }
        if (held == 0) return false;  // a busy machine paused it for so long that it had lost them before

        Running other(on, stubborn());
        other.add("graph");
        other.start();
        checkAll(on, 4, {1});
        CHECK(other.worker.metrics().finished > 0);
        frozen.signal(SIGCONT);
        on.await([&] {
            const auto lines = linesOf(folder / "notes");
            return std::ranges::any_of(lines, [](const std::string& line) { return line.starts_with("lost "); });
        });
        // It continues with the threads that it claims afterwards.
        for (int i = 0; i < 4; ++i) on.submit(nameOf(i), 2);
        other.stop();
        checkAll(on, 4, {1, 2});
        CHECK(linesOf(folder / "notes").size() > did);
        return true;
    }));
}

TEST_CASE(
    "connections of a worker break at any moment, also after the server has done what was asked, and all is done "
    "once") {
    Place on;
    postgres_tests::Proxy proxy;
    Running running(
        on, stubborn({.slots = 4}),
        std::make_shared<sg::PostgresSaver>(proxy.address(), sg::PostgresSaverOptions{.schema = on.schema.name()}));
    running.add("graph");
    running.start();
    constexpr int threads = 8;
    using Cut = postgres_tests::Proxy::Cut;
    constexpr Cut kinds[] = {Cut::reply, Cut::request, Cut::wait};
    int cuts = 0;
    std::vector<int> inputs;
    while (cuts < 24) {
        inputs.push_back(static_cast<int>(inputs.size()) + 1);
        for (int i = 0; i < threads; ++i) on.submit(nameOf(i), inputs.back());
        // Every statement about a thread contains the thread's name.
        while (!on.queue.stats().empty()) {
            if (!proxy.hasCut()) continue;
            proxy.cut(kinds[cuts % 3], nameOf(cuts % threads));
            ++cuts;
        }
    }
    checkAll(on, threads, inputs);
    CHECK(running.worker.metrics().set_aside == 0);
}

TEST_CASE(
    "a server that crashes under a worker, again and again, loses no input that was acknowledged, and doubles none") {
    const postgres_tests::Server server;
    Place on(server.conninfo(), {.reconnect_for = 5min});
    std::atomic<int> errors{0};
    Running running(on,
                    stubborn({.slots = 4,
                              .on_error =
                                  [&](const std::exception_ptr&) {
                                      ++errors;
                                      throw std::runtime_error("is ignored");
                                  }}),
                    std::make_shared<sg::PostgresSaver>(
                        server.conninfo(), sg::PostgresSaverOptions{.schema = on.schema.name(), .reconnect_for = 0ms}));
    // sleeps: work that takes time
    running.add("graph", [](const Counted&, sg::Runtime&) { std::this_thread::sleep_for(2ms); });
    constexpr int threads = 8;
    for (int i = 0; i < threads; ++i) on.submit(nameOf(i), 1);
    for (int i = 0; i < threads; ++i) on.submit(nameOf(i), 2);
    running.start();
    const auto isEmpty = [&] { return on.queue.stats().empty(); };
    for (int crash = 0; crash < 2; ++crash) {
        const auto finished = running.worker.metrics().finished;
        // On a busy machine all of it may be done before that was read.
        on.await([&] { return running.worker.metrics().finished > finished || isEmpty(); });
        const int before = errors;
        server.down();
        on.await([&] { return errors > before; });
        server.up();
    }
    on.await(isEmpty);
    checkAll(on, threads, {1, 2});
}

TEST_CASE("workers whose clocks are wrong by an hour continue each other's threads") {
    Place on;
    const auto ask = [](const Counted& state, sg::Runtime& runtime) {
        (void)sg::interrupt<int>(runtime, "go on " + std::to_string(state.n), sg::Value(state.n));
    };
    const auto worker = [&](std::chrono::seconds by) {
        auto running = std::make_unique<Running>(on, stubborn());
        running->worker.add(
            "graph", countingGraph({.checkpointer = running->saver, .ids = std::make_shared<WrongClock>(by)}, ask));
        running->start();
        return running;
    };
    on.submit(nameOf(0), 1);
    for (int n = 0; n < 5; ++n) {
        const auto running = worker(n % 2 == 0 ? 3600s : -3600s);
        on.awaitState(nameOf(0), sg::WorkState::waits);
        running->stop();
        CHECK(sg::answer(*on.saver, {.thread_id = nameOf(0)}, sg::Value(n)).empty());
    }
    const auto last = worker(-3600s);
    checkAll(on, 1, {1});
}

TEST_CASE("a run that finds no memory is tried again, wherever that is, and its worker ends when it is asked to") {
    if (!failing_new::available()) return;
    constexpr std::array failures{1, 2, 4, 8, 16, 32, 64, 128, 256};
    const auto nameOf = [](int number) { return "a thread whose name needs memory, " + std::to_string(number); };
    Place on;
    std::size_t failed = 0;  // errors handled on the thread of the only slot
    sg::WorkerOptions options = quick({.slots = 1, .attempts_max = 1000, .backoff_max = 20ms});
    options.on_left = [&](const sg::WorkerEvent&) { failed += failing_new::disarm(); };
    Running running(on, options);
    std::set<int> tried;
    sg::StateGraph<Counted> graph;
    graph.addNode("step", [](const Counted& state) { return sg::add<&Counted::log>(state.input); })
        .addEdge(sg::START, "step")
        .addConditionalEdges("step", [&](const Counted& state) {  // called on the slot's thread, unlike a node
            if (tried.insert(state.input).second) {
                failing_new::arm(1, static_cast<std::size_t>(state.input));
                throw 1;
            }
            return sg::END;
        });
    running.worker.add("graph", graph.compile({.checkpointer = running.saver}));
    for (const int each : failures) on.submit(nameOf(each), each);
    running.start();
    for (const int each : failures) {
        on.awaitGone(nameOf(each));
        CHECK(on.log(nameOf(each)) == std::vector{each});
    }
    running.stop();
    CHECK(failed > 9);
    CHECK(running.worker.metrics().finished == failures.size());
    CHECK(running.saver->held() == 0);
}
