#include <atomic>

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

// Streams on an executor of Asio that are cancelled or abandoned, or destroyed together with it.
using namespace graphs;
namespace asio = boost::asio;
using sg::StreamMode;
using namespace shared_streams;

TEST_CASE("cancelling the coroutine that reads a stream stops its run, which ends as cancelled and can be resumed") {
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial}) {
        for (const bool own_control : {false, true}) {
            std::atomic<bool> quick = false;
            const App app = chainOf(appends("a"), [&quick](const State&, sg::Runtime& runtime) -> Task<Update> {
                                runtime.write("begun");
                                if (!quick) co_await sg::sleepFor(runtime, 1h);
                                co_return bar("b");
                            }).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
            sg::RunConfig config{.thread_id = "t"};
            if (own_control) config.control = std::make_shared<sg::RunControl>();
            asio::io_context context(1);
            asio::cancellation_signal signal;
            Strings seen;
            std::optional<sg::Status> status;
            const auto reads = [&]() -> asio::awaitable<void> {
                co_await asio::this_coro::reset_cancellation_state(asio::enable_partial_cancellation());
                co_await asio::this_coro::throw_if_cancelled(false);
                const auto executor = co_await asio::this_coro::executor;
                auto stream = sg::asyncStreamOn(executor, app, Update{}, config,
                                                {.modes = {StreamMode::custom, StreamMode::runs}});
                for (;;) {
                    const auto event = co_await stream.next();
                    if (!event) break;
                    const auto end = sg::endOf(*event);
                    seen.push_back(end ? toString(end->ending) : toString(event->mode));
                    if (event->mode == StreamMode::custom) asio::post(executor, [&] { signal.emit(type); });
                }
                status = stream.outcome().status;
            };
            asio::co_spawn(context, reads(), asio::bind_cancellation_slot(signal.slot(), asio::detached));
            context.run();
            CHECK(seen == Strings{"runs", "custom", "cancelled"});
            CHECK((status == sg::Status::cancelled));
            if (own_control) CHECK(!config.control->stopRequested());
            quick = true;
            CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"a", "b"});
        }
    }
}

TEST_CASE("a stream that lost a race against a timer of Asio's is stopped, and the context runs empty") {
    std::atomic<bool> begun = false;
    const App app = chainOf([&begun](const State&, sg::Runtime& runtime) -> Task<Update> {
                        runtime.write("begun");
                        begun = true;
                        co_await sg::fromAsio(waits(1h), runtime);
                        co_return bar("late");
                    }).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    asio::io_context context(1);
    std::size_t winner = 0;
    run(context, [&]() -> asio::awaitable<void> {
        using namespace asio::experimental::awaitable_operators;
        const auto executor = co_await asio::this_coro::executor;
        const auto reads = [&]() -> asio::awaitable<void> {
            auto stream = sg::asyncStreamOn(executor, app, Update{}, {.thread_id = "t"}, {.modes = StreamMode::custom});
            (void)co_await readAll(stream);
        };
        const auto untilBegun = [&]() -> asio::awaitable<void> {
            while (!begun) co_await waits(1ms);
        };
        const auto first = co_await (reads() || untilBegun());
        winner = first.index();
    }());
    CHECK(winner == 1);
    CHECK(app.getState({.thread_id = "t"}).next == Strings{"n1"});
}

TEST_CASE("an execution context that is destroyed takes its streams with it, and their threads are resumed elsewhere") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto held = std::make_shared<int>(1);
    for (const bool on_asio : {false, true}) {
        for (int handlers = 0; handlers < 12; ++handlers) {
            CAPTURE(handlers);
            const std::string thread = std::to_string(handlers) + (on_asio ? "a" : "t");
            Graph graph;
            graph.addNode("a", appends("a"));
            if (on_asio) {
                graph.addNode("b", [held](const State&, sg::Runtime& runtime) -> asio::awaitable<Update> {
                    const auto mine = held;
                    runtime.write("waits");
                    co_await waits(1h);
                    co_return Update{};
                });
            } else {
                graph.addNode("b", [held](const State&, sg::Runtime& runtime) -> Task<Update> {
                    const auto mine = held;
                    runtime.write("waits");
                    co_await sg::fromAsio(waits(1h), runtime);
                    co_return Update{};
                });
            }
            graph.addEdge(sg::START, "a").addEdge("a", "b");
            {
                const App app = graph.compile({.checkpointer = saver});
                asio::io_context context(1);
                const auto task = [&]() -> asio::awaitable<void> {
                    const auto executor = co_await asio::this_coro::executor;
                    auto stream = sg::asyncStreamOn(executor, app, Update{}, {.thread_id = thread},
                                                    {.modes = StreamMode::custom});
                    (void)co_await readAll(stream);
                };
                asio::co_spawn(context, task(), asio::detached);
                for (int i = 0; i < handlers; ++i) (void)context.run_one_for(2ms);
            }
            graph = Graph();
            CHECK(held.use_count() == 1);
            Graph quick;
            quick.addNode("a", appends("a")).addNode("b", appends("b")).addEdge(sg::START, "a").addEdge("a", "b");
            const App app = quick.compile({.checkpointer = saver});
            const bool has_begun = static_cast<bool>(app.getState({.thread_id = thread}).config.checkpoint_id);
            const auto done =
                has_begun ? app.invoke(sg::RESUME, {.thread_id = thread}) : app.invoke(Update{}, {.thread_id = thread});
            CHECK(done.values.bar == Strings{"a", "b"});
        }
    }
}

TEST_CASE("many streams on a pool of Asio's, some read to the end, some left, some cancelled") {
    Graph graph;
    graph
        .addNode("a",
                 [](const State&, sg::Runtime& runtime) -> asio::awaitable<Update> {
                     for (int i = 0; i < 3; ++i) {
                         runtime.write(i);
                         co_await waits(50us);
                     }
                     co_return bar("a");
                 })
        .addNode("b", [](const State&, sg::Runtime& runtime) -> Task<Update> {
            for (int i = 0; i < 3; ++i) {
                runtime.write(i);
                co_await sg::fromAsio(waits(50us), runtime);
            }
            co_return bar("b");
        });
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b");
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = graph.compile({.checkpointer = saver});
    asio::thread_pool pool(2);
    std::atomic<int> right = 0;
    std::vector<std::unique_ptr<asio::cancellation_signal>> signals;
    const auto task = [&](int number) -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        auto stream = sg::asyncStreamOn(executor, app, Update{}, {.thread_id = std::to_string(number)},
                                        {.modes = StreamMode::custom});
        int events = 0;
        while (number % 3 != 1 || events < number % 7) {
            const auto event = co_await stream.next();
            if (!event) break;
            ++events;
        }
        if (number % 3 == 0) right += events == 6 && stream.outcome().status == sg::Status::done;
    };
    for (int i = 0; i < 150; ++i) {
        const auto strand = asio::make_strand(pool);
        signals.push_back(std::make_unique<asio::cancellation_signal>());
        if (i % 3 == 2) {
            asio::co_spawn(strand, task(i), asio::bind_cancellation_slot(signals.back()->slot(), asio::detached));
            asio::post(strand, [signal = signals.back().get()] { signal->emit(asio::cancellation_type::terminal); });
        } else {
            asio::co_spawn(strand, task(i), asio::detached);
        }
    }
    pool.join();
    CHECK(right == 50);
    for (int i = 0; i < 150; ++i) {
        const sg::RunConfig config{.thread_id = std::to_string(i)};
        const bool has_begun = static_cast<bool>(app.getState({.thread_id = config.thread_id}).config.checkpoint_id);
        const auto done = has_begun ? app.invoke(sg::RESUME, config) : app.invoke(Update{}, config);
        CHECK(done.values.bar == Strings{"a", "b"});
    }
}
