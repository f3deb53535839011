#pragma once
#include <string_view>

namespace stategraph::detail {

/// Returns the double that is nearest to the digits of a JSON number: an infinity if it is larger than all of them, and
/// 0 if it is smaller. Boost.JSON 1.81 misses it for a third of the numbers with 16 and more digits, and has no option.
/// Cost: in proportion to the text.
double nearestDouble(std::string_view number) noexcept;

}  // namespace stategraph::detail
