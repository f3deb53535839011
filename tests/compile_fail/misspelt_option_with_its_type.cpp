// EXPECT: retyr
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

const sg::NodeOptions options = sg::NodeOptions{.retyr = {}};
