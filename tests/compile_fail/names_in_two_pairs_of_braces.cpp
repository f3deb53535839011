// EXPECT: stategraph: a list of names has one pair of braces
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

const sg::CompileOptions options{.interrupt_before = {{"a", "b"}}};
