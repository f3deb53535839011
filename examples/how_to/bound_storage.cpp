// Bounds of what is stored, for docs/how_to/bound_storage.md.
#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include <stategraph/stategraph.hpp>

using namespace std::chrono_literals;

namespace sg = stategraph;

struct Counter {
    int turns = 0;
    static constexpr auto channels() { return sg::channels(sg::channel<&Counter::turns>(sg::sum)); }
};

sg::CompiledGraph<Counter> makeApp(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::StateGraph<Counter> graph;
    graph.addNode("turn", [](const Counter&) -> sg::Update<Counter> { return {sg::add<&Counter::turns>(1)}; });
    graph.addEdge(sg::START, "turn").addEdge("turn", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

int main() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto app = makeApp(saver);
    for (int i = 0; i < 100; ++i) app.invoke({}, {.thread_id = "customer 7"});

    // [begin stats]
    const sg::SaverStats stats = saver->stats({.thread_id = "customer 7"});
    std::cout << stats.total.commits << " checkpoints\n";
    // [end stats]

    // [begin prune]
    const std::size_t dropped = saver->prune({.keep_last = 10});
    std::cout << dropped << " dropped, the state is still " << app.getState({.thread_id = "customer 7"}).values << "\n";
    // [end prune]

    // [begin delete]
    saver->deleteThread("customer 7");
    // [end delete]

    // [begin retention]
    const auto bounded = std::make_shared<sg::MemorySaver>(sg::MemorySaverOptions{
        .bytes_max = 64U << 20U,                                           // refuse what would not fit …
        .when_full = sg::WhenFull::evict,                                  // … or drop finished threads, oldest first
        .retention = sg::RetentionOptions{.keep_last = 100,                // of each thread
                                          .threads_unused_for = 90 * 24h,  // then the whole thread
                                          .every = 10min}});
    makeApp(bounded).invoke({}, {.thread_id = "customer 8"});
    std::cout << "retention failed " << bounded->retentionReport().failed_runs << " times\n";
    // [end retention]
}
