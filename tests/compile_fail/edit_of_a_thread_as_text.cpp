// EXPECT: stategraph: a thread is named in braces: {.thread_id = "A"}
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

void edit(const sg::CompiledGraph<State>& app) { app.updateState("A", {sg::set<&State::foo>("x")}); }
