#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/async/support.hpp"
#include "tests/run/cached_nodes.hpp"
#include "tests/support/caches.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/until.hpp"

// Tasks with one key that run at the same time: all of them run, none waits for another, and the cache has one entry.
using namespace graphs;
using namespace std::chrono_literals;
using namespace cached_nodes;

namespace {

/// A policy with the same key for every state.
sg::CachePolicy oneKey() {
    return {.key = [](const State&) { return 1; }};
}

/// Returns once `number` calls are under way at the same time.
void meet(std::atomic<int>& calls, int number) {
    ++calls;
    patience::until([&] { return calls >= number; });
}

template <class F>
void atOnce(int threads, F call) {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) all.emplace_back([call, i] { call(i); });
}

/// The graph START -> split -> four tasks of w for the same Send.
template <class W>
Graph fourOf(W w, const sg::NodeOptions& options) {
    Graph graph;
    graph.addNode(
        "split",
        [](const State&) -> Command {
            Command command;
            for (int i = 0; i < 4; ++i) command.go_to.add(sg::Send("w", 7));
            return command;
        },
        leadsTo({"w"}));
    graph.addNode("w", std::move(w), options).addEdge(sg::START, "split");
    return graph;
}

}  // namespace

TEST_CASE("equal tasks of one superstep that run at the same time all run, and later ones use the entry") {
    caches::onEach([](const std::shared_ptr<sg::BaseCache>& cache, ManualClock&) {
        savers::onEach([&](savers::Store& store) {
            cache->clear();
            std::atomic<int> calls = 0;
            const App app = fourOf(
                                [&](const int& number) -> Update {
                                    meet(calls, 4);
                                    return bar(std::to_string(number));
                                },
                                {.cache = {}})
                                .compile({.checkpointer = store.open(), .cache = cache});
            for (const char* thread : {"1", "2"}) {
                CHECK(app.invoke(Update{}, {.thread_id = thread}).values.bar == Strings{"7", "7", "7", "7"});
                CHECK(app.getState({.thread_id = thread}).values.bar == Strings{"7", "7", "7", "7"});
                CHECK(calls == 4);
            }
        });
    });
}

TEST_CASE("of equal tasks that run one after the other the first one runs, however the run is driven") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        for (const bool is_coroutine : {false, true}) {
            CAPTURE(driver.name);
            CAPTURE(is_coroutine);
            int calls = 0;
            const auto blocking = [&](const int&) -> Update { return ++calls, bar("w"); };
            const auto coroutine = [&](const int&) -> Task<Update> {
                ++calls;
                co_return bar("w");
            };
            const auto cache = newCache();
            const Graph graph = is_coroutine ? fourOf(coroutine, {.cache = {}}) : fourOf(blocking, {.cache = {}});
            const auto outcome = driver.run(graph.compile({.cache = cache}), Update{}, {.max_concurrency = 1});
            REQUIRE(outcome.what() == "");
            CHECK(outcome.values.bar == Strings{"w", "w", "w", "w"});
            CHECK(calls == 1);
            CHECK(cache->entries() == 1);
            CHECK(cache->stats().misses == 1);
            CHECK(cache->stats().hits == 3);
            CHECK(cache->stats().stores == 1);
        }
    }
}

TEST_CASE("equal tasks of several runs that run at the same time all run, however the runs are driven") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        std::atomic<int> calls = 0;
        Graph graph;
        graph.addNode("a",
                      [&](const State&) -> Update {
                          meet(calls, 3);
                          return bar("a");
                      },
                      {.cache = oneKey()});
        graph.addEdge(sg::START, "a");
        const auto cache = newCache();
        const App app = graph.compile({.cache = cache});
        std::atomic<int> right = 0;
        const auto run = [&](int) {
            const auto outcome = driver.run(app, Update{});
            if (outcome.what().empty() && outcome.values.bar == Strings{"a"}) ++right;
        };
        atOnce(3, run);
        CHECK(right == 3);
        CHECK(calls == 3);
        CHECK(cache->entries() == 1);
        CHECK(cache->stats().misses == 3);
        CHECK(cache->stats().stores == 3);
        run(3);
        CHECK(right == 4);
        CHECK(calls == 3);
        CHECK(cache->stats().hits == 1);
    }
}

TEST_CASE("a task that fails beside an equal one leaves that one's result and entry alone") {
    std::atomic<int> calls = 0;
    std::atomic<int> failed = 0;
    Graph graph;
    graph.addNode("a",
                  [&](const State& state) -> Update {
                      meet(calls, 2);
                      if (state.n == 1) throw std::runtime_error("not this one");
                      return bar("a");
                  },
                  {.cache = oneKey()});
    graph.addEdge(sg::START, "a");
    const auto cache = newCache();
    const App app = graph.compile({.cache = cache});
    atOnce(2, [&](int number) {
        try {
            if (app.invoke({sg::add(&State::n, number)}).values.bar != Strings{"a"}) failed = 100;
        } catch (const sg::NodeError&) {
            ++failed;
        }
    });
    CHECK(failed == 1);
    CHECK(calls == 2);
    CHECK(cache->entries() == 1);
    CHECK(app.invoke({sg::add(&State::n, 1)}).values.bar == Strings{"a"});  // the entry is used for its input too
    CHECK(calls == 2);
}

TEST_CASE("a node may run an equal task inside itself, and the reader of its run's events too") {
    for (const bool apart : {false, true}) {
        CAPTURE(apart);
        std::atomic<int> calls = 0;
        std::function<Strings(int)> call;
        Graph graph;
        sg::NodeOptions options{.cache = oneKey()};
        if (apart) options.timeout = 1h;
        graph.addNode(
            "a",
            [&](const State& state, sg::Runtime& runtime) -> Update {
                ++calls;
                runtime.write(1);
                return bar(state.n > 0 ? "around " + call(state.n - 1).front() : "x");
            },
            options);
        graph.addEdge(sg::START, "a");
        const auto cache = newCache();
        const App app = graph.compile({.cache = cache});
        call = [&](int n) { return app.invoke({sg::add(&State::n, n)}).values.bar; };
        CHECK(call(2) == Strings{"around around x"});
        CHECK(calls == 3);
        CHECK(call(0) == Strings{"around around x"});
        CHECK(calls == 3);
        cache->clear();
        Strings seen;
        app.stream({sg::add(&State::n, 1)}, {}, {.modes = sg::StreamMode::custom},
                   [&](const sg::StreamEvent&) { seen.push_back(call(0).front()); });
        CHECK(seen.size() == 1);
        CHECK(cache->entries() == 1);
    }
}
