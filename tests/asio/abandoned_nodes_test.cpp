#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stategraph/asio.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/drivers.hpp"

namespace sg = stategraph;
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace abandoned_nodes {

struct State {
    int n = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("n", &State::n)); }
};

struct Counted {
    explicit Counted(std::atomic<int>& of) : count(of) { ++count; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() { --count; }
    std::atomic<int>& count;
};

asio::awaitable<int> waitOn(std::chrono::microseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
    co_return 1;
}

sg::Task<sg::Update<State>> work(std::atomic<int>& nodes, std::atomic<int>& begun, sg::Runtime& runtime) {
    const Counted here(nodes);
    ++begun;
    for (int i = 0; i < 3; ++i) {
        auto waited = sg::fromAsio(waitOn(std::chrono::microseconds(200)), runtime);
        co_await std::move(waited);
    }
    co_return sg::Update<State>{sg::set(&State::n, 1)};
}

}  // namespace abandoned_nodes

TEST_CASE(
    "a node that awaits a coroutine of Asio's is gone some time after its run was abandoned, however close the two "
    "ends are") {
    using namespace abandoned_nodes;
    std::atomic<int> nodes = 0;
    std::atomic<int> begun = 0;
    sg::StateGraph<State> graph;
    graph.addNode("work", [&](const State&, sg::Runtime& runtime) { return work(nodes, begun, runtime); });
    graph.addEdge(sg::START, "work").addEdge("work", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    int number = 0;
    for (const drivers::Driver& driver : drivers::crossed()) {
        if (!driver.canAbandon()) continue;
        CAPTURE(driver.name);
        for (int round = 0; round < 12; ++round) {
            begun = 0;
            const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(100 * round);
            drivers::Leave leave;
            leave.when = [&] { return begun > 0 && std::chrono::steady_clock::now() > end; };
            driver.abandon(app, sg::Update<State>{sg::set(&State::n, 0)}, {.thread_id = std::to_string(++number)},
                           leave);
        }
        const auto patience = std::chrono::steady_clock::now() + 5min;
        // sleeps: between two looks
        while (nodes != 0 && std::chrono::steady_clock::now() < patience) std::this_thread::sleep_for(1ms);
        CHECK(nodes == 0);
    }
}
