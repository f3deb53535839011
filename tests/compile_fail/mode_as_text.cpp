// EXPECT: stategraph: a mode is a sg::StreamMode: .modes = sg::StreamMode::updates
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

void run(const sg::CompiledGraph<State>& app) {
    for (const auto& event : app.stream({sg::set<&State::foo>("x")}, {}, {.modes = "updates"})) (void)event;
}
