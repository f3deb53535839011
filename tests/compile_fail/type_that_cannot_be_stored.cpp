// EXPECT: stategraph: this type cannot be stored; give it a fields() table or specialise stategraph::Codec for it
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Handle {
    int* pointer = nullptr;
};
struct State {
    Handle handle = {};
    static constexpr auto channels() { return sg::channels(sg::channel("handle", &State::handle)); }
};

sg::StateGraph<State> graph;
