// EXPECT: stategraph: a write of this update is for a member of another state
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    static constexpr auto channels() { return sg::channels(sg::channel("foo", &State::foo)); }
};

struct Other {
    int n = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("n", &Other::n)); }
};

sg::Update<State> update() { return sg::Update<State>(sg::set(&Other::n, 1)); }
