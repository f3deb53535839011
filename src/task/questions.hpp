#pragma once
#include <string_view>

namespace stategraph {
class Runtime;
}

namespace stategraph::engine {

/// Returns whether a task's error says that an answer was refused.
bool isRefusal(std::string_view error) noexcept;

}  // namespace stategraph::engine

namespace stategraph::detail {

/// Call it when the function that `once` calls is called again within one attempt of the node: its questions are
/// counted from the beginning again.
void restartQuestions(Runtime& runtime) noexcept;

}  // namespace stategraph::detail
