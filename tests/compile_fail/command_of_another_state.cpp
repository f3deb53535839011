// EXPECT: stategraph: a Command's update must be of the graph's state
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

void run(const sg::CompiledGraph<State>& app) {
    app.invoke(sg::Command<Other>{.go_to = "a"}, {.thread_id = "t"});
}
