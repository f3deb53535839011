#pragma once
#include <stategraph/runtime.hpp>

namespace stategraph::detail {

/// Does what stopForAnswers does, without an exception: the node must return immediately, and its result is dropped.
/// Errors: InvalidUpdateError if no question is open.
void stopOnReturn(Runtime& runtime);

}  // namespace stategraph::detail
