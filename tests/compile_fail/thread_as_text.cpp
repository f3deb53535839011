// EXPECT: stategraph: a thread is named in braces: {.thread_id = "A"}
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

std::string read(const sg::CompiledGraph<State>& app) { return app.getState("A").values.foo; }
