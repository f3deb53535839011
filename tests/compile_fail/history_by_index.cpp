// EXPECT: stategraph: a history is read as it is walked, newest first
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

std::string newest(const sg::CompiledGraph<State>& app) {
    return app.getStateHistory({.thread_id = "A"})[0].values.foo;
}
