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

#include "tests/async/support.hpp"
#include "tests/support/savers.hpp"

// Streams whose nodes, continuations and events stay on an executor of Asio's.
using namespace graphs;
namespace asio = boost::asio;
using sg::StreamMode;

namespace {

asio::awaitable<void> waits(std::chrono::nanoseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

void run(asio::io_context& context, asio::awaitable<void> task) {
    std::exception_ptr failure;
    asio::co_spawn(context, std::move(task), [&](std::exception_ptr error) { failure = error; });
    context.run();
    context.restart();
    if (failure) std::rethrow_exception(failure);
}

/// What several nodes share without a lock, as a connection pool is.
struct Shared {
    std::set<std::thread::id> threads;
    int uses = 0;
    void use() {
        threads.insert(std::this_thread::get_id());
        ++uses;
    }
};

/// Two nodes of Asio's and two of this library's beside each other, a subgraph among them, and one at the end that
/// awaits a coroutine of Asio's.
Graph sharing(Shared& shared) {
    const auto asioNode = [&shared](const State&, sg::Runtime& runtime) -> asio::awaitable<Update> {
        shared.use();
        for (int i = 0; i < 3; ++i) {
            co_await waits(100us);
            shared.use();
            runtime.write(i);
            runtime.emitMessage("part");
        }
        co_return bar("asio");
    };
    const auto taskNode = [&shared](const State&, sg::Runtime& runtime) -> Task<Update> {
        shared.use();
        for (int i = 0; i < 3; ++i) {
            co_await sg::sleepFor(runtime, 100us);
            shared.use();
            runtime.write(i);
        }
        co_return bar("task");
    };
    Graph inner;
    inner.addNode("i1", asioNode).addNode("i2", taskNode).addEdge(sg::START, "i1").addEdge("i1", "i2");
    Graph graph;
    graph.addNode("a1", asioNode)
        .addNode("a2", asioNode)
        .addNode("t1", taskNode)
        .addNode("t2", taskNode)
        .addNode("inner", inner.compile());
    graph.addNode("end", [&shared](const State&, sg::Runtime& runtime) -> Task<Update> {
        const auto called = [&shared](int n) -> asio::awaitable<int> {
            shared.use();
            co_await waits(100us);
            shared.use();
            co_return n + 1;
        };
        const int n = co_await sg::fromAsio(called(1), runtime);
        shared.use();
        co_await sg::fromAsio(waits(100us), runtime);
        shared.use();
        co_return bar("end" + std::to_string(n));
    });
    for (const char* name : {"a1", "a2", "t1", "t2", "inner"}) graph.addEdge(sg::START, name);
    graph.addEdge({"a1", "a2", "t1", "t2", "inner"}, "end");
    return graph;
}
const Strings all_bar{"asio", "asio", "asio", "task", "task", "task", "end2"};

/// On the frame of a node: what it does there at its end.
struct Leaving {
    explicit Leaving(std::thread::id expected) : thread(expected) {}
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;
    ~Leaving() { CHECK(std::this_thread::get_id() == thread); }
    std::thread::id thread;
};

asio::awaitable<std::size_t> readAll(auto& stream) {
    std::size_t events = 0;
    for (;;) {
        const auto event = co_await stream.next();
        if (!event) break;
        ++events;
    }
    co_return events;
}

}  // namespace

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
            while (go < 2) std::this_thread::sleep_for(1ms);
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
    savers::onEach([](savers::Store& store) {
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
                                 // operation_aborted, or what Runtime::write throws where the attempt was given up
                                 *cancelled += state.bar == Strings{"in"};  // what it was given is still there
                                 throw;
                             }
                             co_return bar("late");
                         })
                .addNode("task", [=](const State& state, sg::Runtime& runtime) -> Task<Update> {
                    std::string mine(200, 'y');  // what the coroutine of Asio's refers to
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
    const App app = chainOf([](const State&, sg::Runtime& runtime) -> Task<Update> {
                        runtime.write("begun");
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
        const auto first = co_await (reads() || waits(5ms));
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
    "an execution context can be destroyed while its coroutines await a subscription and the run tells of itself") {
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
