// EXPECT: stategraph: a reducer must be callable as T f(const T& value, const T& written)
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    int foo = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("foo", &State::foo, [](const std::string& a, const std::string&) { return a; }));
    }
};

sg::StateGraph<State> graph;
