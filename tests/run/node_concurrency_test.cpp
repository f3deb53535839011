#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/error.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// NodeOptions::max_concurrency, which limits how many tasks of one node run at once.
using namespace graphs;

namespace {

/// Counts the tasks that run at once.
class Crowd {
public:
    void enter() {
        const int here = ++now_;
        for (int seen = most_; here > seen && !most_.compare_exchange_weak(seen, here);) {
        }
        ++ran_;
    }
    void leave() { --now_; }
    int most() const { return most_; }
    int ran() const { return ran_; }

private:
    std::atomic<int> now_{0};
    std::atomic<int> most_{0};
    std::atomic<int> ran_{0};
};

sg::NodeOptions atMost(int tasks) { return {.max_concurrency = tasks}; }

auto splits(int tasks, Strings names = {"w"}) {
    return [tasks, names](const State&) -> Command {
        Command command;
        for (int i = 0; i < tasks; ++i) {
            for (const auto& name : names) command.go_to.add(sg::Send(name, i));
        }
        return command;
    };
}

auto blocks(Crowd& crowd) {
    return [&crowd](const int& number) -> Update {
        crowd.enter();
        if (number % 4 == 0) std::this_thread::yield();
        crowd.leave();
        return {sg::add(&State::bar, std::to_string(number))};
    };
}
auto awaits(Crowd& crowd) {
    return [&crowd](const int& number, sg::Runtime&) -> sg::Task<Update> {
        crowd.enter();
        co_await sg::sleepFor(std::chrono::milliseconds(number % 3));
        crowd.leave();
        co_return Update{sg::add(&State::bar, std::to_string(number))};
    };
}

Strings numbers(int count) {
    Strings texts;
    for (int i = 0; i < count; ++i) texts.push_back(std::to_string(i));
    return texts;
}

}  // namespace

TEST_CASE("at most so many tasks of a node run at once, in every driver, blocking and awaited") {
    for (const drivers::Driver& driver : drivers::all()) {
        for (const int limit : {1, 3}) {
            for (const bool is_awaited : {false, true}) {
                CAPTURE(driver.name);
                CAPTURE(limit);
                CAPTURE(is_awaited);
                Crowd crowd;
                Graph graph;
                graph.addNode("split", splits(20), {.ends = {"w"}}).addEdge(sg::START, "split");
                if (is_awaited) {
                    graph.addNode("w", awaits(crowd), atMost(limit));
                } else {
                    graph.addNode("w", blocks(crowd), atMost(limit));
                }
                const auto saver = std::make_shared<sg::MemorySaver>();
                const auto outcome = driver.run(graph.compile({.checkpointer = saver}), Update{}, {.thread_id = "t"});
                REQUIRE(outcome.what() == "");
                CHECK(outcome.values.bar == numbers(20));
                CHECK(crowd.most() <= limit);
                CHECK(crowd.ran() == 20);
            }
        }
    }
}

TEST_CASE("as many as may run at once do") {
    for (const bool is_awaited : {false, true}) {
        CAPTURE(is_awaited);
        Meeting meeting(3);
        Graph graph;
        graph.addNode("split", splits(3), {.ends = {"w"}}).addEdge(sg::START, "split");
        const auto meet = [&meeting](const int&) -> Update {
            if (!meeting.arrive()) throw std::runtime_error("the others never came");
            return bar("met");
        };
        graph.addNode("w", meet, atMost(3));
        if (is_awaited) {  // a coroutine next to them makes coroutines drive the superstep
            graph.addNode("beside", [](const State&, sg::Runtime&) -> sg::Task<Update> { co_return bar("beside"); });
            graph.addEdge("split", "beside");
            CHECK(sg::syncWait(graph.compile().asyncInvoke(Update{})).values.bar.size() == 4);
        } else {
            CHECK(graph.compile().invoke(Update{}).values.bar.size() == 3);
        }
    }
}

TEST_CASE("a limited node does not hold up others") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        // The first task of `w` waits for tasks of `other` that come after it in the order of tasks.
        Meeting meeting(2);
        std::atomic<int> others{0};
        Graph graph;
        graph.addNode("split", splits(6, {"w", "other"}), {.ends = {"w", "other"}}).addEdge(sg::START, "split");
        graph.addNode(
            "w",
            [&meeting](const int& number) -> Update {
                if (number == 0 && !meeting.arrive()) throw std::runtime_error("the other was held up");
                return {sg::add(&State::n, 1)};
            },
            atMost(1));
        graph.addNode("other", [&](const int&) -> Update {
            if (++others == 6 && !meeting.arrive()) throw std::runtime_error("the first never came");
            return {sg::add(&State::n, 100)};
        });
        const auto saver = std::make_shared<sg::MemorySaver>();
        const auto outcome = driver.run(graph.compile({.checkpointer = saver}), Update{}, {.thread_id = "t"});
        REQUIRE(outcome.what() == "");
        CHECK(outcome.values.n == 606);
    }
}

TEST_CASE("the run's own limit counts too, and with one task at a time every task still runs") {
    for (const int whole : {1, 2}) {
        Crowd crowd;
        Graph graph;
        graph.addNode("split", splits(12), {.ends = {"w"}}).addEdge(sg::START, "split");
        graph.addNode("w", blocks(crowd), atMost(5));
        CHECK(graph.compile().invoke(Update{}, {.max_concurrency = whole}).values.bar == numbers(12));
        CHECK(crowd.most() <= whole);
    }
}

TEST_CASE("a task that is tried again keeps its seat, and failures leave the rest to run") {
    savers::onEach([](savers::Store& store) {
        Crowd crowd;
        std::atomic<int> attempts{0};
        std::atomic<bool> fails{true};
        Graph graph;
        graph.addNode("split", splits(8), {.ends = {"w"}}).addEdge(sg::START, "split");
        graph.addNode("w",
                      [&](const int& number) -> Update {
                          ++attempts;
                          crowd.enter();
                          crowd.leave();
                          if (number == 3 && fails) throw std::runtime_error("down");
                          return {sg::add(&State::bar, std::to_string(number))};
                      },
                      {.retry = {.max_attempts = 2, .initial_interval = std::chrono::milliseconds(1), .jitter = false},
                       .max_concurrency = 2});
        const App app = graph.compile({.checkpointer = store.open()});
        CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t"}), sg::NodeError);
        CHECK(attempts == 9);
        CHECK(crowd.most() <= 2);
        fails = false;
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == numbers(8));
        CHECK(attempts == 10);
    });
}

TEST_CASE("visits of a subgraph are limited like tasks") {
    Crowd crowd;
    struct Bar {
        Strings bar = {};
        static constexpr auto channels() { return sg::channels(sg::channel("bar", &Bar::bar, sg::append)); }
    };
    sg::StateGraph<State, State, Bar> inner;
    inner.addNode("in", [&crowd](const State& state) -> Update {
        crowd.enter();
        std::this_thread::yield();
        crowd.leave();
        return {sg::add(&State::bar, state.foo)};
    });
    inner.addEdge(sg::START, "in");
    Graph graph;
    graph.addNode("split",
                  [](const State&) -> Command {
                      Command command;
                      for (int i = 0; i < 10; ++i) command.go_to.add(sg::Send("sub", State{.foo = std::to_string(i)}));
                      return command;
                  },
                  {.ends = {"sub"}});
    graph.addNode("sub", inner.compile(), atMost(2)).addEdge(sg::START, "split");
    CHECK(graph.compile().invoke(Update{}).values.bar.size() == 10);
    CHECK(crowd.most() <= 2);
    CHECK(crowd.ran() == 10);
}

// bad input: limits below 1
TEST_CASE("a limit below 1 is a fault of the graph that names the node and the option") {
    for (const int limit : {0, -3}) {
        Graph graph;
        graph.addNode("w", appends("w"), atMost(limit)).addEdge(sg::START, "w");
        try {
            graph.compile();
            FAIL("it compiled");
        } catch (const sg::InvalidGraphError& error) {
            CHECK(std::string(error.what()).find("node 'w': max_concurrency is " + std::to_string(limit)) !=
                  std::string::npos);
        }
        try {
            Graph fine;
            fine.addNode("w", appends("w")).addEdge(sg::START, "w");
            fine.compile({.recursion_limit = limit});
            FAIL("it compiled");
        } catch (const sg::InvalidGraphError& error) {
            CHECK(std::string(error.what()).find("CompileOptions::recursion_limit is " + std::to_string(limit)) !=
                  std::string::npos);
        }
    }
}

TEST_CASE("a graph that was compiled with a recursion limit has it in runs that say nothing") {
    const auto chain = [](int nodes) {
        Graph graph;
        std::string before = sg::START;
        for (int i = 0; i < nodes; ++i) {
            const std::string name = "n" + std::to_string(100 + i);
            graph.addNode(name, appends("x")).addEdge(before, name);
            before = name;
        }
        return graph;
    };
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const auto saver = std::make_shared<sg::MemorySaver>();
        CHECK(driver.run(chain(3).compile({.checkpointer = saver, .recursion_limit = 2}), Update{}, {.thread_id = "a"})
                  .as<sg::GraphRecursionError>());
        CHECK(driver
                  .run(chain(3).compile({.checkpointer = saver, .recursion_limit = 2}), Update{},
                       {.thread_id = "b", .recursion_limit = 3})
                  .what() == "");
        CHECK(
            driver.run(chain(30).compile({.checkpointer = saver, .recursion_limit = 30}), Update{}, {.thread_id = "c"})
                .what() == "");
        CHECK(driver.run(chain(26).compile({.checkpointer = saver}), Update{}, {.thread_id = "d"})
                  .as<sg::GraphRecursionError>());
    }
    // A subgraph's own limit applies to its visits unless the run sets one; without either, the limit of the outer
    // graph applies.
    const auto around = [&](std::optional<int> inner, std::optional<int> outer) {
        Graph graph;
        graph.addNode("sub", chain(3).compile({.recursion_limit = inner})).addEdge(sg::START, "sub");
        return graph.compile({.recursion_limit = outer});
    };
    CHECK_THROWS_AS(around(2, 10).invoke(Update{}), sg::GraphRecursionError);
    CHECK_THROWS_AS(around({}, 2).invoke(Update{}), sg::GraphRecursionError);
    CHECK_NOTHROW(around(3, 1).invoke(Update{}));
    CHECK_NOTHROW(around(2, 1).invoke(Update{}, {.recursion_limit = 3}));
}
