// EXPECT: stategraph: sg::merge needs a map
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::vector<int> foo = {};
    static constexpr auto channels() { return sg::channels(sg::channel("foo", &State::foo, sg::merge)); }
};

sg::StateGraph<State> graph;
