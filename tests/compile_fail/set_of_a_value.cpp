// EXPECT: stategraph: a channel is named by its member: sg::set<&State::member>(value)
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

sg::Update<State> plan(const State& state) { return {sg::set(state.foo, "x")}; }
