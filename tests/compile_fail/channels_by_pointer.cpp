// EXPECT: stategraph: members without reducers are template arguments: sg::channels<&State::a, &State::b>()
// THEN: must list every member
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    int foo = 0;
    static constexpr auto channels() { return sg::channels(&State::foo); }
};

void build() { const sg::StateGraph<State> graph; }
