#pragma once
#include <stategraph/runtime.hpp>

namespace stategraph::detail {

/// Adds the entries of a map to what this attempt's questions about effects in doubt say (OnDoubt::ask), so that a
/// person knows what the effect was.
void describeDoubt(Runtime& runtime, Value about);

}  // namespace stategraph::detail
