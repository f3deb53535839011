// EXPECT: stategraph: an effect has a key: runtime.once(
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

int charge(sg::Runtime& runtime) {
    return runtime.once([] { return 1; });
}
