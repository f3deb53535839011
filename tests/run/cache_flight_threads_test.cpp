#include <chrono>
#include <functional>
#include <thread>

#include <stategraph/executor.hpp>

#include "tests/async/support.hpp"
#include "tests/run/cache_flights.hpp"
#include "tests/support/caches.hpp"

// Tasks that wait for an equal task do not occupy the thread that this task needs.
using namespace graphs;
using namespace std::chrono_literals;
using namespace cache_flights;

TEST_CASE("one thread is enough for equal tasks, however they are run") {
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 1});
    Counts counts;
    sg::NodeOptions options;
    options.cache = counts.policy();
    Graph inner;
    inner
        .addNode(
            "in", [&](const State&) -> Update { return ++counts.calls, bar("in"); }, options)
        .addEdge(sg::START, "in");
    Graph graph;
    const App sub = inner.compile();
    for (const char* name : {"b", "c", "d"}) graph.addNode(name, sub).addEdge(sg::START, name);
    const auto cache = std::make_shared<sg::MemoryCache>();
    const App app = graph.compile({.executor = executor, .cache = cache});
    const Strings three{"in", "in", "in"};
    for (int i = 0; i < 50; ++i) {
        cache->clear();
        counts.calls = 0;
        CHECK(app.invoke(Update{}, {.max_concurrency = 1}).values.bar == three);
        CHECK(counts.calls == 1);
        cache->clear();
        CHECK(app.invoke(Update{}).values.bar == three);
        CHECK(counts.calls == 2);
        cache->clear();
        CHECK(sg::syncWait(app.asyncInvoke(Update{})).values.bar == three);
        std::vector<Strings> seen;
        for (const auto& event : app.stream(Update{}, {}, {.modes = {sg::StreamMode::custom, sg::StreamMode::updates}}))
            seen.push_back({event.node});
        CHECK(seen.size() == 3);
    }
}

TEST_CASE("runs on an executor's only thread do not wait for a coroutine that needs it") {
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 1});
    Counts counts;
    Graph graph;
    graph.addNode("a",
                  [&](const State&) -> Task<Update> {
                      ++counts.calls;
                      co_await sg::sleepFor(1ms);
                      co_return bar("a");
                  },
                  {.cache = counts.policy()});
    graph.addEdge(sg::START, "a");
    const App app = graph.compile({.executor = executor, .cache = std::make_shared<sg::MemoryCache>()});
    Graph outer;
    outer.addNode("x", [&](const State&) -> Update { return bar(app.invoke(Update{}).values.bar.front()); })
        .addEdge(sg::START, "x");
    outer.addNode("y", app).addEdge(sg::START, "y");
    const App around = outer.compile({.executor = executor});
    for (int i = 0; i < 20; ++i) {
        app.clearCache();
        CHECK(sg::syncWait(around.asyncInvoke(Update{})).values.bar == Strings{"a", "a"});
    }
}

TEST_CASE(
    "a node that comes to itself with the same key does not wait for itself, on whatever thread of the library's") {
    for (const bool apart : {false, true}) {
        const auto cache = std::make_shared<sg::MemoryCache>();
        std::function<Strings(int)> call;
        Graph graph;
        sg::CachePolicy policy;
        policy.key = [](const State&) { return 1; };
        sg::NodeOptions options;
        options.cache = policy;
        if (apart) options.timeout = 1h;
        // Two of them, so that a thread of the executor takes part.
        for (const char* name : {"a", "b"}) {
            graph.addNode(
                name,
                [&](const State& state) -> Update {
                    return bar(state.n > 0 ? "outer" + call(state.n - 1).front() : "x");
                },
                options);
            graph.addEdge(sg::START, name);
        }
        const App app = graph.compile({.cache = cache});
        call = [&](int n) { return app.invoke({sg::add(&State::n, n)}).values.bar; };
        for (int i = 0; i < 10; ++i) {
            cache->clear();
            CHECK(call(3).size() == 2);
        }
    }
}

TEST_CASE("a subgraph that leads may have an equal of itself inside") {
    Counts counts;
    sg::NodeOptions options;
    options.cache = counts.policy();
    Graph innermost;
    innermost
        .addNode(
            "a", [&](const State&) -> Update { return ++counts.calls, bar("x"); }, options)
        .addEdge(sg::START, "a");
    Graph between;
    between.addNode("m", innermost.compile(), options)
        .addNode("n", innermost.compile(), options)
        .addEdge(sg::START, "m")
        .addEdge(sg::START, "n");
    Graph outer;  // the inner graph's node has the same name, and the graph has the shape of the innermost one
    outer.addNode("a", between.compile(), options).addEdge(sg::START, "a");
    const App app = outer.compile({.cache = std::make_shared<sg::MemoryCache>()});
    // The result of another level may be used too, since the tasks have the same name.
    atOnce(3, [&](int) { CHECK_FALSE(app.invoke(Update{}).values.bar.empty()); });
}

TEST_CASE("a reader of a run's events may start an equal run meanwhile") {
    Counts counts;
    Graph graph;
    graph.addNode("a",
                  [&](const State& state, sg::Runtime& runtime) -> Update {
                      ++counts.calls;
                      if (state.n == 0) {
                          // More events than the buffer of the reader holds.
                          for (int i = 0; i < 3000; ++i) runtime.write(i);
                      }
                      return bar("a");
                  },
                  {.cache = counts.policy()});
    graph.addEdge(sg::START, "a");
    const App app = graph.compile({.cache = std::make_shared<sg::MemoryCache>()});
    int events = 0;
    for (const auto& event : app.stream(Update{}, {}, {.modes = sg::StreamMode::custom})) {
        if (++events == 1) CHECK(app.invoke({sg::add(&State::n, 1)}).values.bar == Strings{"a"});
        (void)event;
    }
    CHECK(events == 3000);
    CHECK(counts.calls == 2);
    app.clearCache();
    events = 0;
    app.stream(Update{}, {}, {.modes = sg::StreamMode::custom}, [&](const sg::StreamEvent&) {
        if (++events > 1) return;
        std::jthread([&] { CHECK(app.invoke({sg::add(&State::n, 1)}).values.bar == Strings{"a"}); }).join();
    });
    CHECK(events == 3000);
}
