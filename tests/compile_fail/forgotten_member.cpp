// EXPECT: stategraph: channels() must list every member of the state exactly once
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    int forgotten = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("foo", &State::foo)); }
};

sg::StateGraph<State> graph;
