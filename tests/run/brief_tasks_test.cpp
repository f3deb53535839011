#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/executor.hpp>

#include "src/graph/pace.hpp"
#include "tests/support/graphs.hpp"

// Tasks that take no longer than handing them over to another thread begin on the thread that drives their run. What
// they can rely on stays the same: tasks that wait for each other overlap.
using namespace graphs;

namespace {

template <class F>
void forEachBrief(sg::Executor& executor, std::size_t count, F f) {
    executor.forEachBrief(
        count, count, [](void* of, std::size_t i) { (*static_cast<F*>(of))(i); }, &f);
}

}  // namespace

TEST_CASE("a node is brief after some brief calls in turn, until one is not") {
    using std::chrono::nanoseconds;
    const sg::engine::Pace pace;
    CHECK_FALSE(pace.isBrief());
    for (int i = 1; i < sg::engine::Pace::enough; ++i) pace.note(nanoseconds(50));
    CHECK_FALSE(pace.isBrief());
    pace.note(sg::engine::Pace::brief_max);
    CHECK(pace.isBrief());
    pace.note(nanoseconds(0));
    CHECK(pace.isBrief());
    pace.note(sg::engine::Pace::brief_max + nanoseconds(1));
    CHECK_FALSE(pace.isBrief());
}

TEST_CASE("tasks of nodes that have always been brief overlap when they wait for each other") {
    std::atomic<Meeting*> meeting{nullptr};
    Graph graph;
    for (const char* name : {"a", "b", "c"}) {
        graph.addNode(name, [&meeting, name](const State&) -> Update {
            Meeting* const here = meeting.load();
            if (here != nullptr && !here->arrive()) throw std::runtime_error("the others never came");
            return bar(name);
        });
        graph.addEdge(sg::START, name);
    }
    const App app = graph.compile();
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 100; ++i) REQUIRE(app.invoke(Update{}).values.bar == Strings{"a", "b", "c"});
        Meeting of_three(3);
        meeting = &of_three;
        CHECK(app.invoke(Update{}).values.bar == Strings{"a", "b", "c"});
        meeting = nullptr;
    }
}

TEST_CASE("brief calls that wait for each other overlap, also in several batches at once") {
    sg::Executor executor;
    std::vector<std::thread> callers;
    std::atomic<int> met{0};
    for (int caller = 0; caller < 3; ++caller) {
        callers.emplace_back([&] {
            Meeting meeting(4);
            forEachBrief(executor, 4, [&](std::size_t) { met += meeting.arrive(); });
        });
    }
    for (auto& caller : callers) caller.join();
    CHECK(met == 12);
}

TEST_CASE("brief calls inside brief calls overlap with those outside") {
    sg::Executor executor;
    Meeting meeting(3);
    std::atomic<int> met{0};
    forEachBrief(executor, 2, [&](std::size_t outer) {
        if (outer == 1) {
            met += meeting.arrive();
            return;
        }
        forEachBrief(executor, 2, [&](std::size_t) { met += meeting.arrive(); });
    });
    CHECK(met == 3);
}

TEST_CASE("brief calls are made in their order on the calling thread while no other thread is free") {
    struct {
        Signal begun;
        Signal go;
    } busy;
    sg::Executor executor({.threads_max = 1});
    executor.submit(
        [](void* of) {
            auto& signals = *static_cast<decltype(busy)*>(of);
            signals.begun.give();
            signals.go.await();
        },
        &busy);
    REQUIRE(busy.begun.await());
    std::vector<std::size_t> calls;
    std::vector<std::thread::id> threads;
    forEachBrief(executor, 100, [&](std::size_t i) {
        calls.push_back(i);
        threads.push_back(std::this_thread::get_id());
    });
    busy.go.give();
    REQUIRE(calls.size() == 100);
    for (std::size_t i = 0; i < calls.size(); ++i) CHECK(calls[i] == i);
    CHECK(threads == std::vector<std::thread::id>(100, std::this_thread::get_id()));
}

TEST_CASE("an executor with brief calls behind it ends at once") {
    const auto begun = std::chrono::steady_clock::now();
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> made{0};
        sg::Executor executor({.idle = std::chrono::minutes(10)});
        for (int i = 0; i < 5; ++i) forEachBrief(executor, 3, [&](std::size_t) { ++made; });
        CHECK(made == 15);
    }
    CHECK(std::chrono::steady_clock::now() - begun < std::chrono::minutes(5));
}
