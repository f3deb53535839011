#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>

#include <stategraph/asio.hpp>

#include <stategraph/control.hpp>
#include <stategraph/stream_hub.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include "tests/asio/shared_streams.hpp"
#include "tests/async/support.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/until.hpp"

// Streams whose nodes, continuations and events stay on an executor of Asio.
using namespace graphs;
namespace asio = boost::asio;
using sg::StreamMode;
using namespace shared_streams;

TEST_CASE(
    "nodes, continuations and events of a stream on an executor of Asio's stay on its thread, whatever modes are asked "
    "for") {
    for (const bool can_be_stopped : {false, true}) {
        for (const sg::StreamOptions& options :
             {sg::StreamOptions{.modes = StreamMode::updates}, sg::StreamOptions{.modes = StreamMode::messages},
              sg::StreamOptions{.modes = StreamMode::custom},
              sg::StreamOptions{.modes = {StreamMode::values, StreamMode::custom}, .subgraphs = true}}) {
            Shared shared;
            const App app = sharing(shared).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
            asio::io_context context(1);
            const auto task = [&]() -> asio::awaitable<void> {
                const auto executor = co_await asio::this_coro::executor;
                sg::RunConfig config{.thread_id = "t"};
                if (can_be_stopped) config.control = std::make_shared<sg::RunControl>();
                auto stream = sg::asyncStreamOn(executor, app, Update{}, config, options);
                const std::size_t events = co_await readAll(stream);
                CHECK(events > 0);
                CHECK((stream.outcome().status == sg::Status::done));
                shared.use();
            };
            run(context, task());
            CHECK(shared.threads == std::set<std::thread::id>{std::this_thread::get_id()});
            CHECK(shared.uses > 20);
            CHECK(app.getState({.thread_id = "t"}).values.bar == all_bar);
        }
    }
}

TEST_CASE(
    "an event that a node of Asio's wrote comes while the node waits, and a blocking node does not hold up the "
    "executor") {
    std::atomic<int> go = 0;
    Graph graph;
    graph
        .addNode("asio",
                 [&go](const State&, sg::Runtime& runtime) -> asio::awaitable<Update> {
                     runtime.write("waiting");
                     while (go < 1) co_await waits(1ms);
                     co_return bar("asio");
                 })
        .addNode("blocks", [&go](const State&, sg::Runtime& runtime) -> Update {
            runtime.write("blocking");
            patience::until([&] { return go >= 2; });
            return bar("blocks");
        });
    graph.addEdge(sg::START, "asio").addEdge("asio", "blocks");
    const App app = graph.compile();
    asio::io_context context(1);
    run(context, [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        auto stream = sg::asyncStreamOn(executor, app, Update{}, {}, {.modes = StreamMode::custom});
        for (const char* expected : {"waiting", "blocking"}) {
            const auto event = co_await stream.next();
            REQUIRE(event);
            CHECK(event->data.as<std::string>() == expected);
            ++go;
        }
        const auto none = co_await stream.next();
        CHECK(!none);
    }());
}

TEST_CASE("a stream on Asio takes commands and RESUME, and gives the run's failure after its events") {
    Graph graph;
    graph
        .addNode("ask",
                 [](const State&, sg::Runtime& runtime) -> asio::awaitable<Update> {
                     co_await waits(100us);
                     co_return bar(sg::interrupt<std::string>(runtime, "name?"));
                 })
        .addNode("bad", [](const State&, sg::Runtime& runtime) -> asio::awaitable<Update> {
            runtime.write("before");
            co_await waits(100us);
            throw std::runtime_error("broken");
        });
    graph.addEdge(sg::START, "ask").addEdge("ask", "bad");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    asio::io_context context(1);
    const sg::StreamOptions options{.modes = {StreamMode::custom, StreamMode::runs}};
    const sg::RunConfig config{.thread_id = "t"};
    run(context, [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        auto asked = sg::asyncStreamOn(executor, app, Update{}, config, options);
        (void)co_await readAll(asked);
        CHECK(asked.outcome().interrupts.size() == 1);
        const auto fails = [&](auto stream) -> asio::awaitable<Strings> {
            Strings seen;
            for (;;) {
                try {
                    const auto event = co_await stream.next();
                    if (!event) break;
                    seen.push_back(sg::isRunEnd(*event) ? "end" : toString(event->mode));
                } catch (const sg::NodeError& error) {
                    CHECK(error.reason() == "broken");
                    seen.push_back("error");
                }
            }
            co_return seen;
        };
        const Strings answered =
            co_await fails(sg::asyncStreamOn(executor, app, sg::Command<State>{.resume = "Ada"}, config, options));
        CHECK(answered == Strings{"runs", "custom", "end", "error"});
        const Strings resumed = co_await fails(sg::asyncStreamOn(executor, app, sg::RESUME, config, options));
        CHECK(resumed == answered);
    }());
    CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"Ada"});
}

TEST_CASE(
    "a stream that is left midway frees its thread immediately, and its nodes of Asio's are cancelled and touch "
    "nothing that is gone") {
    savers::onEachAndLater([](savers::Store& store) {
        const auto saver = store.open();
        const auto thread_of_context = std::this_thread::get_id();
        for (int leave_after = 0; leave_after < 6; ++leave_after) {
            CAPTURE(leave_after);
            const auto cancelled = std::make_shared<int>(0);
            const auto begun = std::make_shared<int>(0);
            Graph graph;
            graph
                .addNode("asio",
                         [=](const State& state, sg::Runtime& runtime) -> asio::awaitable<Update> {
                             const std::string kept(200, 'x');
                             ++*begun;
                             try {
                                 for (int i = 0; i < 3; ++i) {
                                     co_await waits(50us);
                                     runtime.write(kept);
                                 }
                                 co_await waits(1h);
                             } catch (const std::exception&) {
                                 // operation_aborted, or what Runtime::write throws if the attempt was abandoned
                                 *cancelled += state.bar == Strings{"in"};  // what it was given is still there
                                 throw;
                             }
                             co_return bar("late");
                         })
                .addNode("task", [=](const State& state, sg::Runtime& runtime) -> Task<Update> {
                    std::string mine(200, 'y');  // what the Asio coroutine refers to
                    const auto called = [](const std::string& text, const State& of,
                                           int& count) -> asio::awaitable<int> {
                        try {
                            co_await waits(1h);
                        } catch (const boost::system::system_error&) {
                            count += text == std::string(200, 'y') && of.bar.size() == 1;
                            throw;
                        }
                        co_return 1;
                    };
                    ++*begun;
                    const Leaving leaving(thread_of_context);
                    const int value = co_await sg::fromAsio(called(mine, state, *cancelled), runtime);
                    co_return bar(std::to_string(value));
                });
            graph.addEdge(sg::START, "asio").addEdge(sg::START, "task");
            const App app = graph.compile({.checkpointer = saver});
            const std::string thread = std::to_string(leave_after);
            asio::io_context context(1);
            run(context, [&]() -> asio::awaitable<void> {
                const auto executor = co_await asio::this_coro::executor;
                {
                    auto stream = sg::asyncStreamOn(executor, app, bar("in"), {.thread_id = thread},
                                                    {.modes = {StreamMode::custom, StreamMode::runs}});
                    for (int i = 0; i < std::min(leave_after, 4); ++i) (void)co_await stream.next();
                    if (leave_after == 5) co_await waits(1ms);
                }
                if (leave_after < 2) co_return;
                CHECK(app.getState({.thread_id = thread}).next.size() == 2);
                const auto edited =
                    app.updateState({.thread_id = thread}, bar("free"), {.as_node = "asio"});  // the thread is not busy
                CHECK(edited.checkpoint_id);
            }());  // returns when the cancelled nodes have ended
            CHECK(*cancelled == *begun);
            if (leave_after >= 2) CHECK(*begun == 2);
        }
    });
}

TEST_CASE(
    "a coroutine of Asio's is awaited in a task anywhere, also one that gives nothing, fails, or runs on an executor "
    "of its own") {
    asio::io_context context(1);
    auto work = asio::make_work_guard(context);
    std::jthread thread([&] { context.run(); });
    const auto gives = [](int n) -> asio::awaitable<int> {
        co_await waits(100us);
        co_return n;
    };
    const auto fails = []() -> asio::awaitable<void> {
        co_await waits(100us);
        throw std::runtime_error("no");
    };
    const auto where = []() -> asio::awaitable<std::thread::id> {
        co_await waits(100us);
        co_return std::this_thread::get_id();
    };
    const auto task = [&]() -> Task<int> {
        int value = co_await sg::fromAsio(gives(4));
        co_await sg::fromAsio(waits(100us));
        const std::thread::id there = co_await sg::fromAsio(asio::any_io_executor(context.get_executor()), where());
        value += there == thread.get_id();
        try {
            co_await sg::fromAsio(fails());
        } catch (const std::runtime_error&) {
            ++value;
        }
        co_return value;
    };
    CHECK(sg::syncWait(task()) == 6);
    const App app = chainOf([&](const State&, sg::Runtime& runtime) -> Task<Update> {
                        const int n = co_await sg::fromAsio(gives(7), runtime);
                        const std::thread::id there =
                            co_await sg::fromAsio(asio::any_io_executor(context.get_executor()), where(), runtime);
                        CHECK(there == thread.get_id());
                        co_return bar(std::to_string(n));
                    }).compile();
    CHECK(app.invoke(Update{}).values.bar == Strings{"7"});
    CHECK(sg::syncWait(app.asyncInvoke(Update{})).values.bar == Strings{"7"});
    work.reset();
}

TEST_CASE(
    "a subscription is read by a coroutine of Asio's, on its thread, and its cancellation leaves the subscription as "
    "it is") {
    const App app = chainOf(appends("a"), appends("b")).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    sg::StreamHub hub(app);
    asio::io_context context(1);
    asio::cancellation_signal signal;
    auto subscription = hub.subscribe("t", {.until = sg::Until::run_end});
    bool was_none = false;
    const auto cancelled = [&]() -> asio::awaitable<void> {
        co_await asio::this_coro::throw_if_cancelled(false);
        const auto executor = co_await asio::this_coro::executor;
        was_none = !(co_await sg::asyncNextOn(executor, subscription));
    };
    asio::co_spawn(context, cancelled(), asio::bind_cancellation_slot(signal.slot(), asio::detached));
    asio::post(context, [&] { signal.emit(asio::cancellation_type::terminal); });
    context.run();
    context.restart();
    CHECK(was_none);
    CHECK(!subscription.isClosed());
    Strings seen;
    std::set<std::thread::id> threads;
    std::jthread runs([&] { app.invoke(Update{}, {.thread_id = "t", .hub = &hub}); });
    run(context, [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        for (;;) {
            const auto event = co_await sg::asyncNextOn(executor, subscription);
            threads.insert(std::this_thread::get_id());
            if (!event) break;
            seen.push_back(event->node);
        }
    }());
    CHECK(seen == Strings{"n1", "n2"});
    CHECK(threads == std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST_CASE(
    "an execution context can be destroyed while its coroutines await a subscription and the run reports events") {
    const App app = chainOf(appends("a"), appends("b")).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    for (int round = 0; round < 50; ++round) {
        sg::StreamHub hub(app);
        const std::string thread = std::to_string(round);
        std::jthread runs;
        {
            asio::io_context context(1);
            const auto reads = [&]() -> asio::awaitable<void> {
                const auto executor = co_await asio::this_coro::executor;
                auto subscription = hub.subscribe(thread, {.modes = {StreamMode::updates, StreamMode::tasks}});
                while (co_await sg::asyncNextOn(executor, subscription)) {
                }
            };
            asio::co_spawn(context, reads(), asio::detached);
            (void)context.run_one_for(1ms);
            runs = std::jthread([&] { app.invoke(Update{}, {.thread_id = thread, .hub = &hub}); });
            for (int i = 0; i < round % 5; ++i) (void)context.run_one_for(1ms);
        }
        runs.join();
        CHECK(hub.subscribers() == 0);
    }
}
