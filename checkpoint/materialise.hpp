#pragma once
#include <span>
#include <string>

#include <stategraph/detail/log.hpp>

namespace stategraph::checkpoint {

/// The value that operations of the log make, as one CBOR item, without knowing its type. The first is a set, or the
/// value begins as what its first operation implies: an empty list or map. Errors: WrongTypeError if they do not fit
/// each other. Cost: linear.
std::string materialise(std::span<const LogPiece> pieces);

/// Writes one operation on a channel that makes what these make: it begins an entry of a commit's operations, or is all
/// of it. A channel that was set is set. One that never was builds on the value that it has at first, which only its
/// program knows: its operations become one of the same kind. Errors: WrongTypeError if such a channel's are of several
/// kinds (an index counts from the beginning), or do not fit.
void writeWhole(std::string_view channel, std::span<const LogPiece> pieces, Encoder& out);

}  // namespace stategraph::checkpoint
