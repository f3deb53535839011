// EXPECT: stategraph: std::stop_token needs #include <stategraph/control.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

void stop(const sg::RunControl& control) { control.stopToken(); }
