#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/commit_fields.hpp"

// A value stands once in the log. What START takes is in the parent's input already: the operation that comes of it
// names it. What the one task of a superstep wrote is in the operations: the commit's writes name those.
namespace stategraph::checkpoint {

/// Smaller values are written again: a record that names none is of format 1, which every version reads.
inline constexpr std::size_t repeated_bytes_min = 32;

/// Shortens the entries of a commit's operations: those whose value is what `input`, the parent's, writes to their
/// channel, lose it. Returns whether any did; the record is then of format 3. Errors: WrongTypeError for bytes that are
/// neither.
bool nameInputValues(std::string& entries, std::string_view input);

/// Restores the values of such operations of a commit from the input of its parent, which must outlive them. Errors:
/// WrongTypeError naming the channel of one that the input does not write, or writes more than once.
void takeInputValues(std::span<LoggedOp> operations, std::optional<std::string_view> input);

/// Makes `out` the writes of a commit without the values that the entries of its operations have; empty where the
/// operations say all of them. False, and `out` is as it was: there are too many. Errors: as `nameInputValues`.
bool nameLoggedValues(std::string_view writes, std::string_view entries, std::string& out);

}  // namespace stategraph::checkpoint
