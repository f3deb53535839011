// EXPECT: stategraph: channels() must list every member of the state exactly once
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("foo", &State::foo), sg::channel("again", &State::foo));
    }
};

sg::StateGraph<State> graph;
