#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/executor.hpp>
#include <stategraph/functional.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/graphs.hpp"

// Threads of an executor that wait for other work of the same executor: with however few threads, none may wait for
// ever.
namespace sg = stategraph;

namespace {

struct Count {
    int n = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("n", &Count::n, sg::sum)); }
};
using Writes = sg::Update<Count>;

const sg::StreamOptions live{.modes = sg::StreamMode::custom};

std::shared_ptr<sg::Executor> threads(std::size_t max) {
    return std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = max});
}

// A graph of one node.
template <class F>
sg::CompiledGraph<Count> graphOf(F node, const std::shared_ptr<sg::Executor>& executor) {
    sg::StateGraph<Count> graph;
    graph.addNode("a", std::move(node)).addEdge(sg::START, "a").addEdge("a", sg::END);
    return graph.compile({.executor = executor});
}

// A graph whose node emits one event.
sg::CompiledGraph<Count> telling(const std::shared_ptr<sg::Executor>& executor) {
    return graphOf(
        [](const Count&, sg::Runtime& runtime) -> Writes {
            runtime.write(sg::Value(1));
            return {sg::add(&Count::n, 1)};
        },
        executor);
}

int countEvents(const sg::CompiledGraph<Count>& app) {
    int events = 0;
    for (const auto& event : app.stream(Writes{}, {}, live)) events += event.mode == sg::StreamMode::custom;
    return events;
}

sg::Task<int> awaitEvents(sg::CompiledGraph<Count> app) {
    auto stream = app.asyncStream(Writes{}, {}, live);
    int events = 0;
    while (auto event = co_await stream.next()) events += event->mode == sg::StreamMode::custom;
    co_return events;
}

}  // namespace

TEST_CASE("awaited runs that each wait for a call of their flow end, on as many threads as there are runs and on one") {
    for (const std::size_t max : {1, 3}) {
        const auto executor = threads(max);
        std::latch all_inside(static_cast<std::ptrdiff_t>(max));
        const auto entry =
            sg::entrypoint("entry",
                           [&all_inside](const int& input, sg::Calls& flow) -> int {
                               all_inside.arrive_and_wait();  // each thread of the executor runs one of them
                               return flow
                                   .start(
                                       "next", [](int n) { return n + 1; }, input)
                                   .get();
                           },
                           {.executor = executor});
        using State = decltype(entry)::State;
        std::vector<sg::Spawning<sg::Result<State>>> runs;
        for (std::size_t i = 0; i < max; ++i) {
            runs.push_back(sg::spawn(
                executor, entry.graph().asyncInvoke(sg::Update<State>{sg::set(&State::input, static_cast<int>(i))})));
        }
        for (std::size_t i = 0; i < max; ++i) CHECK(runs[i].get().values.output == static_cast<int>(i) + 1);
    }
}

TEST_CASE("a flow whose calls run flows ends on an executor of one thread, and starts no second") {
    const auto executor = threads(1);
    std::atomic<int> at_once = 0;
    std::atomic<int> most = 0;
    const auto leaf =
        sg::entrypoint("leaf",
                       [&](const int& input, sg::Calls& flow) -> int {
                           return flow
                               .start(
                                   "work",
                                   [&](int n) {
                                       const int now = ++at_once;
                                       for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
                                       }
                                       --at_once;
                                       return n + 1;
                                   },
                                   input)
                               .get();
                       },
                       {.executor = executor});
    const auto root = sg::entrypoint("root",
                                     [&leaf](const int& input, sg::Calls& flow) -> int {
                                         std::vector<sg::CallFuture<int>> calls;
                                         for (int i = 0; i < input; ++i)
                                             calls.push_back(flow.start(
                                                 "leaf", [&leaf](int n) { return *leaf.invoke(n).values; }, i));
                                         int sum = 0;
                                         for (auto& call : calls) sum += call.get();
                                         return sum;
                                     },
                                     {.executor = executor});
    CHECK(*root.invoke(100).values == 5050);
    CHECK(most <= 2);  // on the caller's thread and on that of the executor
}

TEST_CASE("calls that nobody waits for are made before their flow ends, with every thread of the executor at work") {
    std::latch is_busy(1);
    std::latch may_end(1);
    std::pair<std::latch*, std::latch*> both{&is_busy, &may_end};
    const auto executor = threads(1);  // queued after the work that its thread waits for
    executor->submit(
        [](void* context) {
            const auto& [busy, end] = *static_cast<std::pair<std::latch*, std::latch*>*>(context);
            busy->count_down();
            end->wait();
        },
        &both);
    is_busy.wait();
    int made = 0;
    const auto entry = sg::entrypoint("entry",
                                      [&made](const int&, sg::Calls& flow) -> int {
                                          for (int i = 0; i < 3; ++i)
                                              (void)flow.start(
                                                  "call", [&made](int n) { return made += n; }, 1);
                                          return 0;
                                      },
                                      {.executor = executor});
    (void)entry.invoke(1);
    CHECK(made == 3);
    may_end.count_down();
}

TEST_CASE("live streams inside nodes of live streams end, though the executor's threads are all in such nodes") {
    for (const std::size_t max : {1, 2}) {
        const auto executor = threads(max);
        const auto inner = telling(executor);
        std::latch all_inside(static_cast<std::ptrdiff_t>(max));
        const auto outer = graphOf(
            [&](const Count&, sg::Runtime& runtime) -> Writes {
                all_inside.arrive_and_wait();
                runtime.write(sg::Value(1));
                return {sg::add(&Count::n, countEvents(inner))};
            },
            executor);
        std::atomic<int> events = 0;
        std::vector<std::jthread> readers;
        for (std::size_t i = 0; i < max; ++i) readers.emplace_back([&] { events += countEvents(outer); });
        readers.clear();
        CHECK(events == static_cast<int>(max));
    }
}

TEST_CASE("a superstep begins with more events than wait between a live stream's tasks and its reader") {
    constexpr int tasks = 1500;
    sg::StateGraph<Count> graph;
    graph.addNode("a", [](const int&) -> Writes { return {sg::add(&Count::n, 1)}; }).addEdge("a", sg::END);
    graph.addConditionalEdges(sg::START, [](const Count&) { return std::vector<sg::Send>(tasks, sg::Send("a", 1)); },
                              {"a"});
    const auto app = graph.compile();
    int begun = 0;
    for (const auto& event : app.stream(Writes{}, {}, {.modes = {sg::StreamMode::custom, sg::StreamMode::tasks}}))
        begun += event.node == "a";
    CHECK(begun == 2 * tasks);  // each begins and ends
}

TEST_CASE("nodes that block on awaited runs and streams end, though the executor's one thread is in such a node") {
    const auto executor = threads(1);
    const auto inner = telling(executor);
    const auto outer = graphOf(
        [&inner](const Count&, sg::Runtime&) -> Writes {
            const int run = sg::syncWait(inner.asyncInvoke(Writes{})).values.n;
            return {sg::add(&Count::n, run + sg::syncWait(awaitEvents(inner)))};
        },
        executor);
    // A blocking call within an awaited run, which itself runs inside a blocking node.
    const auto outermost = graphOf(
        [&outer](const Count&) -> Writes {
            return {sg::add(&Count::n, sg::syncWait(outer.asyncInvoke(Writes{})).values.n)};
        },
        executor);
    auto awaited = sg::spawn(executor, outermost.asyncInvoke(Writes{}));
    CHECK(awaited.get().values.n == 2);
    CHECK(countEvents(outermost) == 0);
    CHECK(outermost.invoke(Writes{}).values.n == 2);
}

TEST_CASE("work is refused by trySubmit when every thread is at work, and taken again when one is free") {
    std::latch is_busy(1);
    std::latch may_end(1);
    std::pair<std::latch*, std::latch*> both{&is_busy, &may_end};
    sg::Executor executor({.threads_max = 1});  // queued after the work that its thread waits for
    REQUIRE(executor.trySubmit(
        [](void* context) {
            const auto& [busy, end] = *static_cast<std::pair<std::latch*, std::latch*>*>(context);
            busy->count_down();
            end->wait();
        },
        &both));
    is_busy.wait();
    std::atomic<int> calls = 0;
    const auto add = [](void* context) { ++*static_cast<std::atomic<int>*>(context); };
    CHECK_FALSE(executor.trySubmit(add, &calls));
    may_end.count_down();
    while (!executor.trySubmit(add, &calls)) std::this_thread::yield();
    while (calls == 0) std::this_thread::yield();
    CHECK(calls == 1);
}
