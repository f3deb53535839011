// EXPECT: stategraph: an update lists writes
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

std::string run(const sg::CompiledGraph<State>& app) {
    return app.invoke(nullptr, {.thread_id = "A"}).values.foo;
}
