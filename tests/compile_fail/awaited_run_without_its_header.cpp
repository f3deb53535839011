// EXPECT: stategraph: sg::Task needs #include <stategraph/async.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

void run(const sg::CompiledGraph<State>& app) { auto task = app.asyncInvoke({sg::set<&State::foo>("x")}); }
