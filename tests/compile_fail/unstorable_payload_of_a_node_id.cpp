// EXPECT: stategraph: this type cannot be stored
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Item {
    int* pointer = nullptr;
};
struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

constexpr sg::NodeId<Item> node{"node"};
void build(sg::StateGraph<State>& graph) {
    graph.addNode(node, [](const Item&) {});
}
