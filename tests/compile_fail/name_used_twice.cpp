// EXPECT: stategraph: two channels of the state have the same name
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::string bar = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("foo", &State::foo), sg::channel("foo", &State::bar));
    }
};

sg::StateGraph<State> graph;
