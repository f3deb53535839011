// EXPECT: stategraph: sg::interrupt needs the node's Runtime
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    static constexpr auto channels() { return sg::channels<&State::foo>(); }
};

sg::Update<State> ask(const State&) { return {sg::set<&State::foo>(sg::interrupt<std::string>("Which?"))}; }
