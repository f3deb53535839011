// EXPECT: stategraph: sg::addMessages needs a list of structs with an `id`
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::vector<std::string> foo = {};
    static constexpr auto channels() { return sg::channels(sg::channel("foo", &State::foo, sg::addMessages)); }
};

sg::StateGraph<State> graph;
