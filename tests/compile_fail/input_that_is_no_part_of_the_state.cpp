// EXPECT: stategraph: each channel of this part must be a channel of the state, with the same name and type
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    static constexpr auto channels() { return sg::channels(sg::channel("foo", &State::foo)); }
};

struct Input {
    int foo = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("foo", &Input::foo)); }
};

sg::StateGraph<State, Input> graph;
