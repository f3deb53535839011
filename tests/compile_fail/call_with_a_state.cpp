// EXPECT: stategraph: an update lists writes
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

std::string research(const sg::CompiledGraph<State>& inner, const State& state, sg::Runtime& runtime) {
    return runtime.invoke(inner, state, "research").foo;
}
