// EXPECT: stategraph: sg::append needs a list, such as std::vector
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    int foo = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("foo", &State::foo, sg::append)); }
};

sg::StateGraph<State> graph;
