// EXPECT: stategraph: an entrypoint's function is a const f(const In&, sg::Calls&)
// THEN: incomplete type
#include <stategraph/functional.hpp>

namespace sg = stategraph;

void build() {
    const auto doubled = sg::entrypoint("double", [](const int& number) { return 2 * number; });
}
