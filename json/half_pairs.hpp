#pragma once
#include <string>
#include <string_view>

namespace stategraph::detail {

/// Replaces each escaped half of a surrogate pair that stands alone, such as \ud83d in "cut \ud83d", by the escape of
/// U+FFFD. JavaScript writes such halves for texts that were cut inside a character. All bytes stay where they are.
std::string withoutHalfPairs(std::string_view json);

}  // namespace stategraph::detail
