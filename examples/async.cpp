// Nodes that wait are coroutines: thousands of runs wait at the same time on one or two threads.
//
//     START ──► fetch ──► summarise ──► END        fetch, summarise: wait for a remote service
//
// A run is awaited like anything else. Here a coroutine awaits one run, reads another one event by event, and spawns a
// hundred at the same time.
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;
using namespace std::chrono_literals;

struct Page {
    std::string address = {};
    std::string text = {};
    std::string summary = {};
    static constexpr auto channels() { return sg::channels<&Page::address, &Page::text, &Page::summary>(); }
};

// A client of some service would wait without a thread, as this does.
sg::Task<std::string> get(std::string address) {
    co_await sg::sleepFor(5ms);
    co_return "the text of " + address;
}

sg::Task<sg::Update<Page>> fetch(const Page& page) {
    std::string text = co_await get(page.address);
    co_return {sg::set<&Page::text>(text)};
}

sg::Task<sg::Update<Page>> summarise(const Page& page) {
    co_await sg::sleepFor(5ms);
    co_return {sg::set<&Page::summary>("short for " + page.text)};
}

sg::Task<> reads(sg::CompiledGraph<Page> app) {
    // The run's arguments may be temporaries.
    auto result = co_await app.asyncInvoke({sg::set<&Page::address>("example.org/a")}, {.thread_id = "a"});
    std::cout << result.values.summary << "\n";

    auto events = app.asyncStream({sg::set<&Page::address>("example.org/b")}, {.thread_id = "b"},
                                  {.modes = sg::StreamMode::updates});
    for (;;) {
        auto event = co_await events.next();
        if (!event) break;
        std::cout << "  " << *event << "\n";
    }
}

int main() {
    sg::StateGraph<Page> graph;
    graph.addNode("fetch", fetch)
        .addNode("summarise", summarise)
        .addEdge(sg::START, "fetch")
        .addEdge("fetch", "summarise")
        .addEdge("summarise", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});

    std::cout << "one, and then one event by event\n";
    sg::syncWait(reads(app));

    std::cout << "\na hundred at once, on two threads\n";
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 2});
    std::vector<sg::Spawning<sg::Result<Page>>> runs;
    for (int i = 0; i < 100; ++i) {
        const std::string number = std::to_string(i);
        runs.push_back(
            sg::spawn(executor, app.asyncInvoke({sg::set<&Page::address>("page " + number)}, {.thread_id = number})));
    }
    std::size_t letters = 0;
    for (auto& run : runs) letters += run.get().values.summary.size();
    std::cout << letters << " letters of summaries\n";

    std::cout << "\nthe same graph, blocking\n";
    std::cout << app.invoke({sg::set<&Page::address>("example.org/c")}, {.thread_id = "c"}).values.summary << "\n";
}
