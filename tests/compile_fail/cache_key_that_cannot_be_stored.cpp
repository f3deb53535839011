// EXPECT: stategraph: a cache key must return something storable
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    static constexpr auto channels() { return sg::channels(sg::channel("foo", &State::foo)); }
};

struct Opaque {
    void* handle = nullptr;
};

sg::NodeOptions options() {
    return {.cache = {.key = [](const State&) { return Opaque{}; }}};
}
