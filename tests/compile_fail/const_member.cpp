// EXPECT: stategraph: a channel's member must not be const
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    const int foo = 0;
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>()); }
};

void build() { const sg::StateGraph<State> graph; }
