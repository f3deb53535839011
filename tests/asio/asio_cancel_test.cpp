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

// Coroutines of Asio that are cancelled while they await runs.
using namespace graphs;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using namespace asio_runs;

namespace {

/// A graph with both kinds of nodes, which wait for an hour at the same time.
Graph waitsLong(const std::shared_ptr<std::atomic<int>>& ended, const std::shared_ptr<std::atomic<int>>& begun) {
    Graph graph;
    graph
        .addNode("asio",
                 [=](const State&) -> asio::awaitable<Update> {
                     ++*begun;
                     try {
                         co_await waits(1h);
                     } catch (const boost::system::system_error& error) {
                         *ended += error.code() == asio::error::operation_aborted;
                     }
                     co_return bar("late");
                 })
        .addNode("task", [=](const State&, sg::Runtime& runtime) -> Task<Update> {
            ++*begun;
            try {
                co_await sg::sleepFor(runtime, 1h);
            } catch (const sg::CancelledError&) {
                ++*ended;
            }
            co_return bar("late");
        });
    graph.addEdge(sg::START, "asio").addEdge(sg::START, "task");
    return graph;
}

}  // namespace

TEST_CASE("cancelling a coroutine of Asio's stops the run that it awaits, and the nodes that the run awaits") {
    savers::onEachAndLater([](savers::Store& store) {
        const auto saver = store.open();
        for (const bool own_control : {false, true}) {
            for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial}) {
                const auto ended = std::make_shared<std::atomic<int>>(0);
                const auto begun = std::make_shared<std::atomic<int>>(0);
                const auto app = waitsLong(ended, begun).compile({.checkpointer = saver});
                const std::string thread = std::to_string(2 * own_control + (type == asio::cancellation_type::partial));
                sg::RunConfig config{.thread_id = thread};
                if (own_control) config.control = std::make_shared<sg::RunControl>();
                asio::io_context context(1);
                asio::cancellation_signal signal;
                std::optional<sg::Status> status;
                bool aborted = false;
                const auto task = [&]() -> asio::awaitable<void> {
                    co_await asio::this_coro::reset_cancellation_state(asio::enable_partial_cancellation());
                    const auto executor = co_await asio::this_coro::executor;
                    auto result = co_await sg::asyncInvokeOn(executor, app, bar("in"), config);
                    status = result.status;
                    CHECK(result.values.bar == Strings{"in"});
                    try {
                        co_await waits(1h);
                    } catch (const boost::system::system_error& error) {
                        aborted = error.code() == asio::error::operation_aborted;
                    }
                };
                asio::co_spawn(context, task(), asio::bind_cancellation_slot(signal.slot(), asio::detached));
                asio::co_spawn(
                    context,
                    [&]() -> asio::awaitable<void> {
                        while (*begun < 2) co_await waits(1ms);
                        signal.emit(type);
                    },
                    asio::detached);
                context.run();
                REQUIRE(status);
                CHECK((*status == sg::Status::cancelled));
                CHECK(aborted);
                patience::until([&] { return *ended >= 2; });
                if (own_control) CHECK_FALSE(config.control->stopRequested());
                CHECK(app.getState({.thread_id = thread}).next.size() == 2);
            }
        }
    });
}

TEST_CASE("a run raced against a timer of Asio's, in which the timer wins, ends with it") {
    const auto ended = std::make_shared<std::atomic<int>>(0);
    const auto begun = std::make_shared<std::atomic<int>>(0);
    const auto app = waitsLong(ended, begun).compile();
    asio::io_context context(1);
    const auto untilBegun = [&]() -> asio::awaitable<void> {
        while (*begun < 2) co_await waits(1ms);
    };
    const auto task = [&]() -> asio::awaitable<int> {
        using namespace asio::experimental::awaitable_operators;
        const auto executor = co_await asio::this_coro::executor;
        auto first = co_await (sg::asyncInvokeOn(executor, app, Update{}) || untilBegun());
        co_await waits(1ms);  // not cancelled: the race is over
        co_return static_cast<int>(first.index());
    };
    CHECK(runIn(context, task()) == 1);
    patience::until([&] { return *ended >= 2; });
}

TEST_CASE("after a task or a run was awaited, the coroutine can be cancelled as before") {
    const auto app = chainOf(appendsLater("a")).compile();
    asio::io_context context(1);
    asio::cancellation_signal signal;
    int aborted = 0;
    const auto sleeps = []() -> Task<> { co_await sg::sleepFor(1ms); };
    const auto task = [&](bool run) -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        if (run) {
            (void)co_await sg::asyncInvokeOn(executor, app, Update{});
        } else {
            co_await sg::awaitOn(executor, sleeps());
        }
        asio::post(executor, [&] { signal.emit(asio::cancellation_type::terminal); });
        try {
            co_await waits(1h);
        } catch (const boost::system::system_error& error) {
            aborted += error.code() == asio::error::operation_aborted;
        }
    };
    for (const bool run : {false, true}) {
        asio::co_spawn(context, task(run), asio::bind_cancellation_slot(signal.slot(), asio::detached));
        context.run();
        context.restart();
    }
    CHECK(aborted == 2);
}

TEST_CASE(
    "a coroutine that was cancelled already, and continues all the same, gets a run that ends before its first node") {
    const auto app = chainOf(appends("a")).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    asio::io_context context(1);
    asio::cancellation_signal signal;
    std::optional<sg::Status> status;
    const auto task = [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        co_await asio::this_coro::throw_if_cancelled(false);
        signal.emit(asio::cancellation_type::terminal);
        status = (co_await sg::asyncInvokeOn(executor, app, bar("in"), {.thread_id = "t"})).status;
    };
    asio::co_spawn(context, task(), asio::bind_cancellation_slot(signal.slot(), asio::detached));
    context.run();
    CHECK((status == sg::Status::cancelled));
    CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"in", "a"});
}

TEST_CASE(
    "nodes of Asio's that ignore their cancellation are left on its threads, and end with their execution context") {
    const auto held = std::make_shared<int>(1);
    const auto begun = std::make_shared<std::atomic<int>>(0);
    Graph graph;
    graph.addNode("stubborn", [=](const State&) -> asio::awaitable<Update> {
        const auto mine = held;
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        ++*begun;
        co_await waits(1h);
        co_return bar("late");
    });
    graph.addEdge(sg::START, "stubborn");
    {
        const auto app = graph.compile();
        asio::io_context context(1);
        const auto control = std::make_shared<sg::RunControl>();
        std::optional<sg::Status> status;
        const auto stops = [&]() -> asio::awaitable<void> {
            while (*begun < 1) co_await waits(1ms);
            control->requestStop();
        };
        asio::co_spawn(context, stops(), asio::detached);
        const auto task = [&]() -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            sg::RunConfig config;
            config.control = control;
            status = (co_await sg::asyncInvokeOn(executor, app, Update{}, config)).status;
            context.stop();
        };
        asio::co_spawn(context, task(), asio::detached);
        context.run();
        CHECK((status == sg::Status::cancelled));
        CHECK(held.use_count() == 3);
    }
    graph = Graph();
    patience::until([&] { return held.use_count() <= 1; });
    CHECK(*begun == 1);
}

TEST_CASE("a run on Asio that can be stopped stays on its thread, nodes and all") {
    std::vector<std::thread::id> threads;
    const auto app = both(threads).compile();
    asio::io_context context(1);
    sg::RunConfig config;
    config.control = std::make_shared<sg::RunControl>();
    const auto task = [&]() -> asio::awaitable<State> {
        const auto executor = co_await asio::this_coro::executor;
        auto result = co_await sg::asyncInvokeOn(executor, app, {sg::add(&State::n, 4)}, config);
        co_return result.values;
    };
    CHECK(runIn(context, task()) == State{"", {"asio4", "task"}, 4});
    CHECK(threads == std::vector<std::thread::id>(2, std::this_thread::get_id()));
}

TEST_CASE("many runs on a pool of Asio's, half of them cancelled") {
    const auto app = [] {
        Graph graph;
        graph
            .addNode("a",
                     [](const State&) -> asio::awaitable<Update> {
                         co_await waits(500us);
                         co_return bar("a");
                     })
            .addNode("b", appendsLater("b", 500us));
        graph.addEdge(sg::START, "a").addEdge("a", "b");
        return graph.compile();
    }();
    asio::thread_pool pool(2);
    std::atomic<int> done = 0;
    std::atomic<int> cancelled = 0;
    std::vector<std::unique_ptr<asio::cancellation_signal>> signals;
    std::vector<asio::any_io_executor> strands;
    const auto task = [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        auto result = co_await sg::asyncInvokeOn(executor, app, {});
        (result.status == sg::Status::done ? done : cancelled)++;
    };
    for (int i = 0; i < 200; ++i) {
        signals.push_back(std::make_unique<asio::cancellation_signal>());
        strands.emplace_back(asio::make_strand(pool));
        asio::co_spawn(strands.back(), task(), asio::bind_cancellation_slot(signals.back()->slot(), asio::detached));
    }
    for (std::size_t i = 0; i < signals.size(); i += 2) {
        asio::post(strands[i], [signal = signals[i].get()] { signal->emit(asio::cancellation_type::terminal); });
    }
    pool.join();
    CHECK(done + cancelled <= 200);  // one that was cancelled before it began threw
    CHECK(done >= 100);
}

TEST_CASE("a Command leads where it says, whether the awaiting coroutine has a cancellation slot or not") {
    static constexpr sg::NodeId<int> work{"work"};
    const auto led = [](Command command, bool with_limit) {
        Graph graph;
        graph.addNode("lead", [command](const State&) -> asio::awaitable<Command> { co_return command; },
                      {.ends = {"b", "work"},
                       .timeout = with_limit ? std::optional<std::chrono::milliseconds>(10min) : std::nullopt});
        graph.addNode("b", appends("b"));
        graph.addNode(work, [](const int& n) -> Update { return {sg::add(&State::bar, "work" + std::to_string(n))}; });
        graph.addEdge(sg::START, "lead");
        return graph;
    };
    const Command to_both{.update = bar("lead"), .go_to = {"b", work(1), work(2)}};
    Graph inside;
    inside.addNode("lead", [to_both](const State&) -> asio::awaitable<Command> {
        Command command = to_both;
        command.graph = sg::PARENT;
        co_return command;
    });
    inside.addEdge(sg::START, "lead");
    Graph around;
    around.addNode("inside", inside.compile(), leadsTo({"b", "work"})).addNode("b", appends("b"));
    around.addNode(work, [](const int& n) -> Update { return {sg::add(&State::bar, "work" + std::to_string(n))}; });
    around.addEdge(sg::START, "inside");
    for (const auto& app : {led(to_both, false).compile(), led(to_both, true).compile(), around.compile()}) {
        for (const bool has_slot : {false, true}) {
            asio::io_context context(1);
            asio::cancellation_signal signal;
            Strings came_to;
            const auto run = [&]() -> asio::awaitable<void> {
                const auto executor = co_await asio::this_coro::executor;
                auto result = co_await sg::asyncInvokeOn(executor, app, Update{});
                came_to = result.values.bar;
            };
            if (has_slot) {
                asio::co_spawn(context, run(), asio::bind_cancellation_slot(signal.slot(), asio::detached));
            } else {
                asio::co_spawn(context, run(), asio::detached);
            }
            context.run();
            CHECK(came_to == Strings{"lead", "b", "work1", "work2"});
        }
    }
}
