#pragma once
#include <optional>
#include <string_view>

#include <stategraph/runtime.hpp>

namespace stategraph::detail {

/// Adds the entries of a map to what this attempt's questions about effects in doubt say (OnDoubt::ask), so that a
/// person knows what the effect was.
void describeDoubt(Runtime& runtime, Value about);

/// In an error handler: returns the answer to the question that the node asked with this key, if there is one.
std::optional<Value> answerOfNode(Runtime& runtime, std::string_view key);

}  // namespace stategraph::detail
