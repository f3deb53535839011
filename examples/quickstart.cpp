// Two nodes, and a checkpoint after every superstep, kept in RocksDB.
//
//     START ──► nodeA ──► nodeB ──► END
//
// It runs the graph, prints the checkpoints that this left, edits the state, and goes back in time. Run it twice in the
// same folder: the second run finds the thread where the first one left it.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};

    // Every member is a channel. `foo` keeps its last value, `bar` appends what is written to it.
    static constexpr auto channels() {
        return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append));
    }
};

sg::Update<State> nodeA(const State&) { return {sg::set<&State::foo>("a"), sg::add<&State::bar>("a")}; }
sg::Update<State> nodeB(const State&) { return {sg::set<&State::foo>("b"), sg::add<&State::bar>("b")}; }

int main() {
    sg::StateGraph<State> graph;
    graph.addNode("nodeA", nodeA)
        .addNode("nodeB", nodeB)
        .addEdge(sg::START, "nodeA")
        .addEdge("nodeA", "nodeB")
        .addEdge("nodeB", sg::END);

    const auto saver = std::make_shared<sg::RocksDBSaver>("checkpoints");  // a folder; created if it does not exist
    const auto app = graph.compile({.checkpointer = saver});

    const auto found = app.getState({.thread_id = "1"});
    if (found.config.checkpoint_id) {
        std::cout << "Thread 1 was left by an earlier process:\n  " << found << "\n";
    } else {
        std::cout << "Thread 1 is new.\n";
    }

    std::cout << "\ninvoke: input, nodeA, nodeB\n";
    const auto result = app.invoke({sg::set<&State::foo>("")}, {.thread_id = "1"});
    std::cout << "  foo = " << result.values.foo << ", bar has " << result.values.bar.size() << " elements\n";

    std::cout << "\nThe four checkpoints that it made, newest first:\n";
    sg::Config before_b;
    for (const auto& snapshot : app.getStateHistory({.thread_id = "1"}, {.limit = 4})) {
        std::cout << "  " << snapshot << "\n";
        if (snapshot.next == std::vector<std::string>{"nodeB"}) before_b = snapshot.config;
    }

    std::cout << "\nupdateState as nodeA: the reducers take the values, and nodeA's edge makes nodeB due\n";
    app.updateState({.thread_id = "1"}, {sg::set<&State::foo>("edited"), sg::add<&State::bar>("edited")},
                    {.as_node = "nodeA"});
    std::cout << "  " << app.getState({.thread_id = "1"}) << "\n";

    std::cout << "\nReplay from the checkpoint before nodeB: a fork, which knows nothing of the edit\n";
    app.invoke(sg::RESUME, before_b);
    for (const auto& snapshot : app.getStateHistory({.thread_id = "1"}, {.limit = 2})) {
        std::cout << "  " << snapshot << "\n";
    }
}
