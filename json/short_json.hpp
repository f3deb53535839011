#pragma once
#include <string>
#include <string_view>

namespace stategraph::detail {

/// Encodes a short JSON text, such as the arguments of a tool's call, without a tree of values. Returns false for a
/// text that needs the parser: one that is no JSON, or is long, or has an escape, a character that is not ASCII, a
/// number that is not a short integer, more than a few members or levels, or a name twice; `out` is unspecified then.
/// Otherwise the bytes are those that the parser's value has. `out` must be empty before. Cost: one pass.
bool encodeShortJson(std::string_view text, std::string& out);

}  // namespace stategraph::detail
