#pragma once
#include <span>
#include <string>

#include <stategraph/detail/log.hpp>

namespace stategraph::checkpoint {

/// Returns the value that operations of the log result in, as one CBOR item, without knowing its type. If the first
/// operation is not a set, the value begins as an empty list or map, as that operation implies. Errors: WrongTypeError
/// if the operations do not fit each other. Cost: linear.
std::string materialise(std::span<const LogPiece> pieces);

/// Writes one operation on a channel that has the same result as these. It can be an entry of a commit's operations, or
/// all of them. A channel that was set is set. A channel that was never set builds on its initial value, which only its
/// program knows: its operations become one of the same kind. Errors: WrongTypeError if the operations of such a
/// channel are of several kinds (because an index counts from the beginning), or do not fit each other.
void writeWhole(std::string_view channel, std::span<const LogPiece> pieces, Encoder& out);

}  // namespace stategraph::checkpoint
