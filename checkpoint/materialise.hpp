#pragma once
#include <span>
#include <string>

#include <stategraph/detail/log.hpp>

namespace stategraph::checkpoint {

/// The value that operations of the log make, as one CBOR item, without knowing its type. The first is a set, or the value
/// begins as what its first operation implies: an empty list or map.
/// Errors: WrongTypeError if they do not fit each other. Cost: linear.
std::string materialise(std::span<const LogPiece> pieces);

}  // namespace stategraph::checkpoint
