// EXPECT: stategraph: this channel has a reducer: give it a value with sg::add
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

sg::Update<State> write() { return {sg::set(&State::bar, {"x"})}; }
