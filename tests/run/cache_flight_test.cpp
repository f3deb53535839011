#include <atomic>
#include <chrono>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include <stategraph/control.hpp>
#include <stategraph/executor.hpp>

#include "tests/async/support.hpp"
#include "tests/run/cache_flights.hpp"
#include "tests/support/caches.hpp"
#include "tests/support/savers.hpp"

// If equal cached tasks begin while one of them runs, that one runs for all.
using namespace graphs;
using namespace std::chrono_literals;
using namespace cache_flights;

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

TEST_CASE("of equal tasks of several runs one runs, also where nodes may be abandoned") {
    for (const bool apart : {false, true}) {
        Counts counts;
        const auto cache = std::make_shared<sg::MemoryCache>();
        sg::NodeOptions options;
        if (apart) options.timeout = 1h;
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
        CHECK(cache->stats().misses == 1);  // one task was executed
        CHECK(cache->stats().hits == 3);    // and three used its result
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

TEST_CASE("a run that is stopped waits no longer, and one whose first task was abandoned continues by itself") {
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
            patience::until([&]() -> bool { return leads; });
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
    patience::until([&] { return counts.calls >= 1; });
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
                      patience::until([&] { return begun >= 3; });
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
                        // The other tasks are about to join it. A task that comes later runs by itself, so the
                        // executions cannot be counted here.
                        return bar("a");
                    }).compile({.cache = cache});
    atOnce(2, [&](int) { CHECK(app.invoke(Update{}).values.bar == Strings{"a"}); });
    CHECK(counts.calls <= 2);
}
