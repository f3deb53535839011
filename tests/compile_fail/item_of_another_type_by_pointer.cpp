// EXPECT: stategraph: the value does not convert to the type of the channel, or of an element of its list
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

sg::Update<State> write() { return {sg::add(&State::bar, 7)}; }
