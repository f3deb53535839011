// EXPECT: sg::sum needs a type with +, sg::min and sg::max need one with <, and a list takes sg::append
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::vector<int> foo = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(sg::sum)); }
};

void build() { const sg::StateGraph<State> graph; }
