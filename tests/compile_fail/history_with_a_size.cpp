// EXPECT: stategraph: a history is read as it is walked and has no size
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

std::size_t count(const sg::CompiledGraph<State>& app) {
    const std::size_t size = app.getStateHistory({.thread_id = "A"}).size();
    return size;
}
