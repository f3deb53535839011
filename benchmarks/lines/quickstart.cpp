#include <iostream>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

auto nodeA(const State&) { return sg::update(sg::set<&State::foo>("a"), sg::add<&State::bar>("a")); }
auto nodeB(const State&) { return sg::update(sg::set<&State::foo>("b"), sg::add<&State::bar>("b")); }

int main() {
    sg::StateGraph<State> graph;
    graph.addNode("a", nodeA);
    graph.addNode("b", nodeB);
    graph.addEdge(sg::START, "a");
    graph.addEdge("a", "b");
    graph.addEdge("b", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::RocksDBSaver>("checkpoints")});
    const sg::RunConfig config{.thread_id = "1"};
    std::cout << app.invoke({sg::set<&State::foo>("")}, config).values << "\n";
    for (const auto& snapshot : app.getStateHistory(config)) {
        std::cout << snapshot << "\n";
    }
}
