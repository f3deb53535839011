#pragma once
#include <chrono>
#include <thread>

#include <stategraph/asio.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include "tests/async/support.hpp"

// Waits with Asio, and a graph with nodes of Asio and of this library.
namespace asio_runs {

using namespace graphs;
using namespace std::chrono_literals;
namespace asio = boost::asio;

template <class T>
T runIn(asio::io_context& context, asio::awaitable<T> task) {
    std::optional<T> result;
    std::exception_ptr failure;
    asio::co_spawn(context, std::move(task), [&](std::exception_ptr error, T value) {
        failure = error;
        if (!error) result.emplace(std::move(value));
    });
    context.run();
    context.restart();
    if (failure) std::rethrow_exception(failure);
    return std::move(*result);
}

inline asio::awaitable<void> waits(std::chrono::nanoseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

// A graph with a node of Asio and one of this library.
inline Graph both(std::vector<std::thread::id>& threads) {
    Graph graph;
    graph
        .addNode("asio",
                 [&](const State& state) -> asio::awaitable<Update> {
                     const int before = state.n;
                     co_await waits(2ms);
                     threads.push_back(std::this_thread::get_id());
                     co_return Update{sg::add(&State::bar, "asio" + std::to_string(before))};
                 })
        .addNode("task", [&](const State&) -> Task<Command> {
            co_await sg::sleepFor(2ms);
            threads.push_back(std::this_thread::get_id());
            co_return {.update = {sg::add(&State::bar, "task")}};
        });
    graph.addEdge(sg::START, "asio").addEdge("asio", "task").addEdge("task", sg::END);
    return graph;
}

}  // namespace asio_runs
