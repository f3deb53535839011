// EXPECT: stategraph: a cache key must be callable as f(const In&)
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

sg::NodeOptions options() {
    return {.cache = {.key = [](const auto& state) { return state; }}};
}
