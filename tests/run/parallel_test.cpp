#include <atomic>
#include <numeric>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>
#include <stategraph/executor.hpp>

#include "tests/support/graphs.hpp"

// How the tasks of a superstep share threads.
using namespace graphs;

namespace {

// START -> split -> `tasks` Sends to w, which records how many tasks run at once.
struct Crowd {
    std::atomic<int> now{0};
    std::atomic<int> most{0};
    std::atomic<int> ran{0};

    App graph(int tasks, const std::shared_ptr<sg::Executor>& executor = {}) {
        Graph graph;
        graph.addNode(
            "split",
            [tasks](const State&) -> Command {
                Command command;
                for (int i = 0; i < tasks; ++i) command.go_to.add(sg::Send("w", i));
                return command;
            },
            leadsTo({"w"}));
        graph.addNode("w", [this](const int& number) -> Update {
            const int here = ++now;
            for (int seen = most; here > seen && !most.compare_exchange_weak(seen, here);) {
            }
            if (number % 16 == 0) std::this_thread::yield();
            ++ran;
            --now;
            return {sg::add(&State::bar, std::to_string(number)), sg::add(&State::n, number)};
        });
        graph.addEdge(sg::START, "split");
        return graph.compile({.executor = executor});
    }
};

}  // namespace

TEST_CASE("tasks of one superstep overlap in time") {
    Meeting meeting(3);
    Graph graph;
    for (const char* name : {"a", "b", "c"}) {
        graph.addNode(name, [&meeting, name](const State&) -> Update {
            if (!meeting.arrive()) throw std::runtime_error("the others never came");
            return bar(name);
        });
        graph.addEdge(sg::START, name);
    }
    CHECK(graph.compile().invoke(Update{}).values.bar == Strings{"a", "b", "c"});
}

TEST_CASE("blocking nodes overlap on an executor with one thread, because the caller takes part") {
    Meeting meeting(2);
    Graph graph;
    for (const char* name : {"a", "b"}) {
        graph.addNode(name, [&meeting, name](const State&) -> Update {
            if (!meeting.arrive()) throw std::runtime_error("the other never came");
            return bar(name);
        });
        graph.addEdge(sg::START, name);
    }
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 1});
    CHECK(graph.compile({.executor = executor}).invoke(Update{}).values.bar == Strings{"a", "b"});
}

TEST_CASE("a thousand sends all run, in order of their index, and never more at once than max_concurrency") {
    Strings expected;
    for (int i = 0; i < 1000; ++i) expected.push_back(std::to_string(i));
    for (const int limit : {1, 2, 16}) {
        CAPTURE(limit);
        Crowd crowd;
        const auto result = crowd.graph(1000).invoke(Update{}, {.max_concurrency = limit});
        CHECK(crowd.ran == 1000);
        CHECK(crowd.most <= limit);
        CHECK(result.values.n == 999 * 1000 / 2);
        CHECK((result.values.bar == expected));
    }
}

TEST_CASE("max_concurrency is used up by tasks that block") {
    Meeting meeting(4);
    Graph graph;
    graph.addNode(
        "split",
        [](const State&) -> Command {
            Command command;
            for (int i = 0; i < 8; ++i) command.go_to.add(sg::Send("w", i));
            return command;
        },
        leadsTo({"w"}));
    std::atomic<int> met{0};
    graph.addNode("w", [&](const int& number) -> Update {
        if (number < 4 && meeting.arrive()) ++met;
        return {};
    });
    graph.addEdge(sg::START, "split");
    graph.compile().invoke(Update{}, {.max_concurrency = 4});
    CHECK(met == 4);
}

TEST_CASE("a single task runs on the caller's thread") {
    std::vector<std::thread::id> threads;
    Graph graph;
    for (const char* name : {"a", "b"}) {
        graph.addNode(name, [&threads](const State&) -> Update {
            threads.push_back(std::this_thread::get_id());
            return {};
        });
    }
    graph.addEdge(sg::START, "a").addEdge("a", "b");
    graph.compile().invoke(Update{});
    CHECK(threads == std::vector<std::thread::id>(2, std::this_thread::get_id()));
}

TEST_CASE("with max_concurrency 1 tasks follow each other on the caller's thread in their order") {
    Log log;
    std::vector<std::thread::id> threads;
    Graph graph;
    for (const char* name : {"c", "a", "b"}) {
        graph.addNode(name, [&, name](const State&) -> Update {
            threads.push_back(std::this_thread::get_id());
            return log.add(name), Update{};
        });
        graph.addEdge(sg::START, name);
    }
    graph.compile().invoke(Update{}, {.max_concurrency = 1});
    CHECK(log.take() == Strings{"a", "b", "c"});
    CHECK(threads == std::vector<std::thread::id>(3, std::this_thread::get_id()));
}

// issue 2, bad input: limits below 1
TEST_CASE("max_concurrency below 1 is refused before anything runs") {
    Crowd crowd;
    for (const int limit : {0, -1}) {
        const auto error =
            thrown<sg::InvalidArgumentError>([&] { crowd.graph(1).invoke(Update{}, {.max_concurrency = limit}); });
        CHECK(contains(error.message(), "must be at least 1"));
    }
    CHECK(crowd.ran == 0);
}

TEST_CASE("a graph runs on several threads at once") {
    Crowd crowd;
    const App app = crowd.graph(20);
    std::vector<std::thread> callers;
    std::atomic<int> right{0};
    for (int i = 0; i < 4; ++i) {
        callers.emplace_back([&] {
            for (int round = 0; round < 10; ++round) right += app.invoke(Update{}).values.n == 190;
        });
    }
    for (auto& caller : callers) caller.join();
    CHECK(right == 40);
    CHECK(crowd.ran == 800);
}

TEST_CASE("tasks that are themselves wide graphs finish on an executor with one thread") {
    Crowd crowd;
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 1});
    const App inner = crowd.graph(10, executor);
    Graph graph;
    for (const char* name : {"a", "b", "c"}) graph.addNode(name, inner).addEdge(sg::START, name);
    CHECK(graph.compile({.executor = executor}).invoke(Update{}).values.n == 3 * 45);
    CHECK(crowd.ran == 30);
}
