// EXPECT: stategraph: fields() must list every member exactly once
// THEN: this type cannot be stored
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Item {
    std::string name = {};
    int count = 0;
    static constexpr auto fields() { return sg::fields(sg::field("name", &Item::name)); }
};
struct State {
    Item item = {};
    static constexpr auto channels() { return sg::channels(sg::channel("item", &State::item)); }
};

sg::StateGraph<State> graph;
