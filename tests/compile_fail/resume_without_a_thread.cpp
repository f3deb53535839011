// EXPECT: stategraph: a run that resumes needs its thread: invoke(sg::RESUME, {.thread_id = "A"})
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

std::string resume(const sg::CompiledGraph<State>& app) { return app.invoke(sg::RESUME).values.foo; }
