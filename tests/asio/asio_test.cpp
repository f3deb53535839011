#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include <stategraph/asio.hpp>

#include <stategraph/control.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include "tests/asio/asio_runs.hpp"
#include "tests/async/support.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/until.hpp"

// Runs on Boost.Asio, and nodes that are its coroutines.
using namespace graphs;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using namespace asio_runs;

TEST_CASE("a run on an executor of Asio's stays on its thread, sleeps and all") {
    std::vector<std::thread::id> threads;
    const auto app = both(threads).compile();
    asio::io_context context(1);
    const auto task = [&]() -> asio::awaitable<State> {
        const auto executor = co_await asio::this_coro::executor;
        auto result = co_await sg::asyncInvokeOn(executor, app, {sg::add(&State::n, 4)});
        co_return result.values;
    };
    CHECK(runIn(context, task()) == State{"", {"asio4", "task"}, 4});
    CHECK(threads == std::vector<std::thread::id>(2, std::this_thread::get_id()));
}

TEST_CASE("nodes of Asio's run in blocking runs, and in awaited ones that are not on Asio") {
    std::vector<std::thread::id> threads;
    const auto app = both(threads).compile();
    CHECK(app.invoke({}).values.bar == Strings{"asio0", "task"});
    CHECK(sg::syncWait(app.asyncInvoke({})).values.bar == Strings{"asio0", "task"});
    CHECK(sg::spawn(twoThreads(), app.asyncInvoke({})).get().values.bar == Strings{"asio0", "task"});
}

TEST_CASE("interrupts, answers, failures and retries are the same on Asio") {
    savers::onEachAndLater([](savers::Store& store) {
        Graph graph;
        graph
            .addNode("ask",
                     [](const State&, sg::Runtime& runtime) -> asio::awaitable<Update> {
                         co_await waits(1ms);
                         co_return Update{sg::add(&State::bar, sg::interrupt<std::string>(runtime, "what?"))};
                     })
            .addNode("flaky",
                     [](const State&, sg::Runtime& runtime) -> asio::awaitable<Update> {
                         const int attempt = runtime.attempt();
                         co_await waits(1ms);
                         if (attempt < 2) throw std::runtime_error("not yet");
                         co_return bar("attempt " + std::to_string(attempt));
                     },
                     {.retry = {.max_attempts = 2, .initial_interval = 1ms, .jitter = false}})
            .addNode("bad", [](const State&) -> asio::awaitable<Update> {
                co_await waits(1ms);
                throw std::runtime_error("broken");
            });
        graph.addEdge(sg::START, "ask").addEdge("ask", "flaky").addEdge("flaky", "bad");
        const auto app = graph.compile({.checkpointer = store.open()});
        asio::io_context context(1);
        const std::string long_answer(80, 'y');
        const sg::RunConfig config{.thread_id = "t"};
        const auto task = [&]() -> asio::awaitable<int> {
            const auto executor = co_await asio::this_coro::executor;
            auto asked = co_await sg::asyncInvokeOn(executor, app, Update{}, {.thread_id = "t"});
            CHECK(asked.interrupts.size() == 1);
            int caught = 0;
            try {
                (void)co_await sg::asyncInvokeOn(executor, app, sg::Command<>{.resume = long_answer},
                                                 {.thread_id = "t"});
            } catch (const sg::NodeError& error) {
                caught += error.reason() == "broken";
            }
            try {
                (void)co_await sg::asyncInvokeOn(executor, app, sg::RESUME, config);
            } catch (const sg::NodeError& error) {
                caught += error.context().node == "bad";
            }
            co_return caught;
        };
        CHECK(runIn(context, task()) == 2);
        CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{long_answer, "attempt 2"});
    });
}

TEST_CASE("many runs on a pool of Asio's, blocking nodes among theirs") {
    Graph graph;
    graph
        .addNode("a",
                 [](const State&) -> asio::awaitable<Update> {
                     co_await waits(1ms);
                     co_return bar("a");
                 })
        .addNode("b", appendsLater("b"))
        .addNode("c", appends("c"));
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b").addEdge(sg::START, "c");
    const auto app = graph.compile();
    asio::thread_pool pool(2);
    std::atomic<int> right = 0;
    const auto task = [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        auto result = co_await sg::asyncInvokeOn(executor, app, {});
        right += result.values.bar == Strings{"a", "b", "c"};
    };
    for (int i = 0; i < 200; ++i) asio::co_spawn(pool, task(), asio::detached);
    pool.join();
    CHECK(right == 200);
}

TEST_CASE("an execution context that is destroyed takes its runs with it, and their threads continue elsewhere") {
    savers::onEachAndLater([](savers::Store& store) {
        const auto saver = store.open();
        const auto held = std::make_shared<int>(1);
        for (const bool on_asio : {false, true}) {
            std::atomic<bool> begun = false;
            Graph graph;
            graph.addNode("a", appends("a"));
            if (on_asio) {
                graph.addNode("b", [held, &begun](const State&) -> asio::awaitable<Update> {
                    const auto mine = held;
                    begun = true;
                    co_await waits(1h);
                    co_return Update{};
                });
            } else {
                graph.addNode("b", [held, &begun](const State&) -> Task<Update> {
                    const auto mine = held;
                    begun = true;
                    co_await sg::sleepFor(1h);
                    co_return Update{};
                });
            }
            graph.addEdge(sg::START, "a").addEdge("a", "b").addEdge("b", sg::END);
            const std::string thread = on_asio ? "asio" : "task";
            {
                const auto app = graph.compile({.checkpointer = saver});
                asio::io_context context(1);
                const auto task = [&]() -> asio::awaitable<void> {
                    const auto executor = co_await asio::this_coro::executor;
                    (void)co_await sg::asyncInvokeOn(executor, app, Update{}, {.thread_id = thread});
                };
                asio::co_spawn(context, task(), asio::detached);
                patience::until([&]() -> bool {
                    (void)context.run_one_for(1ms);
                    return begun;
                });
            }
            graph = Graph();
            CHECK(held.use_count() == 1);
            Graph quick;
            quick.addNode("a", appends("a")).addNode("b", appends("b")).addEdge(sg::START, "a").addEdge("a", "b");
            CHECK(quick.compile({.checkpointer = saver}).invoke(sg::RESUME, {.thread_id = thread}).values.bar ==
                  Strings{"a", "b"});
        }
    });
}

TEST_CASE(
    "an execution context can be destroyed as soon as its thread has left it after the end of a run with a control and "
    "a sleep") {
    Graph graph;
    graph.addNode("a", [](const State&, sg::Runtime& runtime) -> Task<Update> {
        co_await sg::sleepFor(runtime, 20us);
        co_return bar("a");
    });
    graph.addEdge(sg::START, "a");
    const auto app = graph.compile();
    for (int round = 0; round < 200; ++round) {
        const bool on_strand = round % 2 == 0;
        auto context = std::make_unique<asio::io_context>();
        std::size_t ended = 0;
        const auto task = [&]() -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            const auto result =
                co_await sg::asyncInvokeOn(executor, app, Update{}, {.control = std::make_shared<sg::RunControl>()});
            ended += result.values.bar.size();
        };
        on_strand ? asio::co_spawn(asio::make_strand(*context), task(), asio::detached)
                  : asio::co_spawn(*context, task(), asio::detached);
        std::thread([&] { context->run(); }).join();
        context.reset();
        CHECK(ended == 1);
    }
}

TEST_CASE("an execution context can be destroyed while threads of the library post to it") {
    std::atomic<int> running = 0;
    const auto held = std::make_shared<int>(1);
    Graph graph;
    for (const char* name : {"a", "b", "c"}) {
        graph.addNode(name, [&running](const State&, sg::Runtime& runtime) -> Update {
            ++running;
            for (int i = 0; i < 20; ++i) runtime.write(i);
            return {};
        });
        graph.addEdge(sg::START, name);
    }
    const auto app = graph.compile({.executor = twoThreads()});
    for (int round = 0; round < 200; ++round) {
        {
            asio::io_context context(1);
            running = 0;
            const auto task = [&]() -> asio::awaitable<void> {
                const auto mine = held;
                const auto executor = co_await asio::this_coro::executor;
                (void)co_await sg::asyncInvokeOn(executor, app, Update{});
            };
            asio::co_spawn(context, task(), asio::detached);
            while (running == 0) (void)context.run_one_for(1ms);
        }
        CHECK(held.use_count() == 1);
    }
}

TEST_CASE("a task is awaited by a coroutine of Asio's") {
    asio::io_context context(1);
    const auto sleeps = []() -> Task<int> {
        co_await sg::sleepFor(1ms);
        co_return 5;
    };
    const auto fails = []() -> Task<> {
        co_await sg::sleepFor(1ms);
        throw std::runtime_error("no");
    };
    const auto task = [&]() -> asio::awaitable<int> {
        const auto executor = co_await asio::this_coro::executor;
        int value = co_await sg::awaitOn(executor, sleeps());
        try {
            co_await sg::awaitOn(executor, fails());
        } catch (const std::runtime_error&) {
            ++value;
        }
        co_return value;
    };
    CHECK(runIn(context, task()) == 6);
}
