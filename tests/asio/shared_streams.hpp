#pragma once
#include <set>
#include <thread>

#include <stategraph/asio.hpp>

#include <stategraph/stream_hub.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include "tests/async/support.hpp"

// Graphs whose nodes share something without a lock, and readers of their streams on Asio.
namespace shared_streams {

using namespace graphs;
namespace asio = boost::asio;
using sg::StreamMode;

inline asio::awaitable<void> waits(std::chrono::nanoseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

inline void run(asio::io_context& context, asio::awaitable<void> task) {
    std::exception_ptr failure;
    asio::co_spawn(context, std::move(task), [&](std::exception_ptr error) { failure = error; });
    context.run();
    context.restart();
    if (failure) std::rethrow_exception(failure);
}

/// The data that several nodes share without a lock, like a connection pool.
struct Shared {
    std::set<std::thread::id> threads;
    int uses = 0;
    void use() {
        threads.insert(std::this_thread::get_id());
        ++uses;
    }
};

/// A graph with two nodes of Asio and two of this library that run at the same time, including a subgraph, and a last
/// one that awaits a coroutine of Asio.
inline Graph sharing(Shared& shared) {
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
inline const Strings all_bar{"asio", "asio", "asio", "task", "task", "task", "end2"};

/// An object on the frame of a node, which acts when the frame is destroyed.
struct Leaving {
    explicit Leaving(std::thread::id expected) : thread(expected) {}
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;
    ~Leaving() { CHECK(std::this_thread::get_id() == thread); }
    std::thread::id thread;
};

inline asio::awaitable<std::size_t> readAll(auto& stream) {
    std::size_t events = 0;
    for (;;) {
        const auto event = co_await stream.next();
        if (!event) break;
        ++events;
    }
    co_return events;
}

}  // namespace shared_streams
