#include <atomic>
#include <chrono>
#include <functional>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include <stategraph/control.hpp>
#include <stategraph/executor.hpp>

#include "tests/async/support.hpp"
#include "tests/support/caches.hpp"
#include "tests/support/savers.hpp"

// Equal cached tasks that begin while one of them runs: it runs for all.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

using sg::Status;

/// Counts the tasks that are about to ask the cache, and the calls of the node.
struct Counts {
    std::atomic<int> begun = 0;
    std::atomic<int> calls = 0;

    void awaitBegun(int number) const {
        while (begun < number) std::this_thread::yield();
    }
    sg::CachePolicy policy() {
        sg::CachePolicy policy;
        policy.key = [this](const State& state) {
            ++begun;
            return state.foo;
        };
        return policy;
    }
};

/// START -> a, which calls `body(number of the call)`.
template <class F>
Graph lone(Counts& counts, F body, sg::NodeOptions options = {}) {
    Graph graph;
    options.cache = counts.policy();
    graph.addNode(
        "a", [&counts, body](const State&) -> Update { return body(++counts.calls); }, options);
    graph.addEdge(sg::START, "a");
    return graph;
}

template <class F>
void atOnce(int threads, F call) {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) all.emplace_back([call, i] { call(i); });
}

}  // namespace

TEST_CASE("of equal tasks of one superstep one runs, and all have its result") {
    caches::onEach([](const std::shared_ptr<sg::BaseCache>& cache, ManualClock&) {
        savers::onEach([&](savers::Store& store) {
            cache->clear();
            Counts counts;
            Graph graph;
            graph.addNode(
                "split",
                [](const State&) -> Command {
                    Command command;
                    for (int i = 0; i < 4; ++i) command.go_to.add(sg::Send("w", 7));
                    return command;
                },
                leadsTo({"w"}));
            sg::CachePolicy policy;
            policy.key = [&](const int& number) {
                ++counts.begun;
                return number;
            };
            graph.addNode("w",
                          [&](const int& number) -> Update {
                              ++counts.calls;
                              counts.awaitBegun(4);
                              return bar(std::to_string(number));
                          },
                          {.cache = policy});
            graph.addEdge(sg::START, "split");
            const App app = graph.compile({.checkpointer = store.open(), .cache = cache});
            CHECK(app.invoke(Update{}, {.thread_id = "t"}).values.bar == Strings{"7", "7", "7", "7"});
            CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"7", "7", "7", "7"});
            CHECK(counts.calls == 1);
        });
    });
}

TEST_CASE("of equal tasks of several runs one runs, also where nodes may be given up") {
    for (const bool apart : {false, true}) {
        Counts counts;
        const auto cache = std::make_shared<sg::MemoryCache>();
        sg::NodeOptions options;
        if (apart) options.timeout = 1min;
        const App app = lone(
                            counts,
                            [&](int) {
                                counts.awaitBegun(4);
                                return bar("a");
                            },
                            options)
                            .compile({.cache = cache});
        atOnce(4, [&](int) { CHECK(app.invoke(Update{}).values.bar == Strings{"a"}); });
        CHECK(counts.calls == 1);
        CHECK(cache->stats().stores == 1);
        CHECK(cache->stats().misses == 1);  // one was executed
        CHECK(cache->stats().hits == 3);    // and three took its result
    }
}

TEST_CASE("where the first one fails one of those that wait runs") {
    Counts counts;
    const App app = lone(counts, [&](int call) {
                        counts.awaitBegun(4);
                        if (call < 3) throw std::runtime_error("not yet");
                        return bar("a");
                    }).compile({.cache = std::make_shared<sg::MemoryCache>()});
    std::atomic<int> failed = 0;
    atOnce(4, [&](int) {
        try {
            const auto result = app.invoke(Update{});
            CHECK(result.values.bar == Strings{"a"});
        } catch (const sg::NodeError&) {
            ++failed;
        }
    });
    CHECK(failed == 2);
    CHECK(counts.calls == 3);
}

TEST_CASE("a task that is tried again lets those that wait try in between") {
    Counts counts;
    sg::NodeOptions options;
    options.retry = {.max_attempts = 2, .initial_interval = 1ms};
    const App app = lone(
                        counts,
                        [&](int call) {
                            counts.awaitBegun(2);
                            if (call == 1) throw std::runtime_error("not yet");
                            return bar("a");
                        },
                        options)
                        .compile({.cache = std::make_shared<sg::MemoryCache>()});
    atOnce(2, [&](int) { CHECK(app.invoke(Update{}).values.bar == Strings{"a"}); });
    CHECK(counts.calls == 2);
}

TEST_CASE("where the first one asks, every one asks for itself") {
    Counts counts;
    Log log;
    Graph graph;
    graph.addNode("a",
                  [&](const State&, sg::Runtime& runtime) -> Update {
                      counts.awaitBegun(3);
                      ++counts.calls;
                      return bar(sg::interrupt<std::string>(runtime, "why?"));
                  },
                  {.cache = counts.policy()});
    graph.addEdge(sg::START, "a");
    const App app = graph.compile(
        {.checkpointer = std::make_shared<sg::MemorySaver>(), .cache = std::make_shared<sg::MemoryCache>()});
    atOnce(3, [&](int i) {
        CHECK((app.invoke(Update{}, {.thread_id = std::to_string(i)}).status == Status::interrupted));
    });
    CHECK(counts.calls == 3);
    atOnce(3, [&](int i) {
        const std::string thread = std::to_string(i);
        CHECK(app.invoke(sg::Command<>{.resume = thread}, {.thread_id = thread}).values.bar == Strings{thread});
    });
}

TEST_CASE("a run that is stopped waits no longer, and one whose first task was given up goes on by itself") {
    for (const bool stops_leader : {false, true}) {
        Counts counts;
        auto gate = std::make_shared<std::binary_semaphore>(0);
        std::atomic<bool> leads = false;
        const App app = lone(counts, [&, gate](int call) {
                            if (call > 1) return bar("second");
                            leads = true;
                            gate->acquire();
                            return bar("first");
                        }).compile({.cache = std::make_shared<sg::MemoryCache>()});
        const auto first = std::make_shared<sg::RunControl>();
        const auto second = std::make_shared<sg::RunControl>();
        Status first_status = Status::done;
        Status second_status = Status::done;
        {
            std::jthread leader([&] {
                sg::RunConfig config;
                config.control = first;
                first_status = app.invoke(Update{}, config).status;
            });
            while (!leads) std::this_thread::yield();
            std::jthread waiter([&] {
                sg::RunConfig config;
                config.control = second;
                const auto result = app.invoke(Update{}, config);
                second_status = result.status;
                if (stops_leader) CHECK(result.values.bar == Strings{"second"});
            });
            counts.awaitBegun(2);
            (stops_leader ? first : second)->requestStop();
            if (stops_leader) {
                leader.join();
                waiter.join();
            } else {
                waiter.join();
            }
            gate->release();
        }
        CHECK((first_status == (stops_leader ? Status::cancelled : Status::done)));
        CHECK((second_status == (stops_leader ? Status::done : Status::cancelled)));
        CHECK(counts.calls == (stops_leader ? 2 : 1));
    }
}

TEST_CASE("a run whose time is up waits no longer") {
    Counts counts;
    std::binary_semaphore gate(0);
    const App app = lone(counts, [&](int) {
                        gate.acquire();
                        return bar("a");
                    }).compile({.cache = std::make_shared<sg::MemoryCache>()});
    std::jthread leader([&] { CHECK(app.invoke(Update{}).values.bar == Strings{"a"}); });
    while (counts.calls < 1) std::this_thread::yield();
    CHECK((app.invoke(Update{}, {.timeout = 1ms}).status == Status::timed_out));
    gate.release();
}

TEST_CASE("what is not kept is not waited for twice: each of the others runs") {
    struct Scratch {
        std::string note = {};
        static constexpr auto channels() { return sg::channels(sg::channel("note", &Scratch::note, sg::untracked)); }
    };
    std::atomic<int> begun = 0;
    std::atomic<int> calls = 0;
    sg::CachePolicy policy;
    policy.key = [&](const Scratch&) { return ++begun, 1; };
    sg::StateGraph<Scratch> graph;
    graph.addNode("a",
                  [&](const Scratch&) -> sg::Update<Scratch> {
                      while (begun < 3) std::this_thread::yield();
                      ++calls;
                      return {sg::set(&Scratch::note, "n")};
                  },
                  {.cache = policy});
    graph.addEdge(sg::START, "a");
    const auto app = graph.compile({.cache = std::make_shared<sg::MemoryCache>()});
    atOnce(3, [&](int) { app.invoke(sg::Update<Scratch>{}); });
    CHECK(calls == 3);
}

TEST_CASE("a result that the cache has no room for, or fails to keep, goes to those that wait all the same") {
    Counts counts;
    const auto cache = std::make_shared<caches::MeddlingCache>();
    cache->fails = true;
    const App app = lone(counts, [&](int) {
                        counts.awaitBegun(2);
                        // The others are on their way to it; who comes later runs, so that there is nothing to count
                        // here.
                        return bar("a");
                    }).compile({.cache = cache});
    atOnce(2, [&](int) { CHECK(app.invoke(Update{}).values.bar == Strings{"a"}); });
    CHECK(counts.calls <= 2);
}

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
        if (apart) options.timeout = 1min;
        // Two of them, so that an executor's thread helps.
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
    Graph outer;  // its node has the name, and the graph the shape, of the innermost
    outer.addNode("a", between.compile(), options).addEdge(sg::START, "a");
    const App app = outer.compile({.cache = std::make_shared<sg::MemoryCache>()});
    // What one of another level came to may serve as well: they go by the same name.
    atOnce(3, [&](int) { CHECK_FALSE(app.invoke(Update{}).values.bar.empty()); });
}

TEST_CASE("who reads a run's events may start an equal run meanwhile") {
    Counts counts;
    Graph graph;
    graph.addNode("a",
                  [&](const State& state, sg::Runtime& runtime) -> Update {
                      ++counts.calls;
                      if (state.n == 0) {
                          for (int i = 0; i < 3000; ++i) runtime.write(i);  // more than wait for the reader
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
