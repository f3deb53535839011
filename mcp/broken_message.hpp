#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace stategraph::mcp::detail {

/// The number that a text is, written without a sign and without leading zeros; -1 if it is none.
std::int64_t idIn(std::string_view text) noexcept;

/// Finds what a text that is not JSON was the answer to: the ids of its messages, or of its only one, that can be no
/// requests of the server. A fault inside of a string or a value hides nothing; one of the quotes may hide what
/// follows. Cost: one pass.
std::vector<std::int64_t> answeredIn(std::string_view text);

}  // namespace stategraph::mcp::detail
