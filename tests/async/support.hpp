#pragma once
#include <chrono>
#include <coroutine>
#include <exception>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>

#include "tests/support/graphs.hpp"

// Coroutine nodes for the tests' small state.
namespace graphs {

using namespace std::chrono_literals;
template <class T = void>
using Task = sg::Task<T>;

/// A foreign coroutine that owns what it awaits, and can be destroyed with it.
struct Owner {
    struct promise_type {
        Owner get_return_object() { return Owner{std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

/// Returns a node that appends `text` to bar after a wait.
inline auto appendsLater(std::string text, std::chrono::nanoseconds time = 1ms) {
    return [text, time](const State&) -> Task<Update> {
        co_await sg::sleepFor(time);
        co_return {sg::add(&State::bar, text)};
    };
}

/// Returns a graph with START and then the nodes one after the other.
template <class... F>
Graph chainOf(F... nodes) {
    Graph graph;
    std::string before = sg::START;
    int number = 0;
    const auto add = [&](auto node) {
        const std::string name = "n" + std::to_string(++number);
        graph.addNode(name, std::move(node)).addEdge(before, name);
        before = name;
    };
    (add(std::move(nodes)), ...);
    graph.addEdge(before, sg::END);
    return graph;
}

/// Two threads, which stay the same ones however long nothing comes.
inline std::shared_ptr<sg::Executor> twoThreads() {
    return std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 2, .idle = std::chrono::hours(1)});
}

}  // namespace graphs
