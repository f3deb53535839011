// EXPECT: stategraph: a state needs a table of its channels
// THEN: no member named 'channels'
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
};

sg::StateGraph<State> graph;
