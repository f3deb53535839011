#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/checkpoint/commit_fields.hpp"

// Makes sure that the log contains a value only once. The value that START takes is already in the parent's input, so
// the resulting operation names it. What the single task of a superstep wrote is in the operations, so the commit's
// writes name those.
namespace stategraph::checkpoint {

/// Smaller values are written again, because a record that names none has format 1, which every version reads.
inline constexpr std::size_t repeated_bytes_min = 32;

/// Shortens the entries of a commit's operations: an entry loses its value if `input`, the parent's, writes the same
/// value to its channel. Returns whether any entry did; then the record has format 3. Errors: WrongTypeError for bytes
/// that are neither.
bool nameInputValues(std::string& entries, std::string_view input);

/// Restores the values of such operations of a commit from the input of its parent, which must outlive them. Errors:
/// WrongTypeError naming the channel of an operation if the input does not write that channel, or writes it more than
/// once.
void takeInputValues(std::span<LoggedOp> operations, std::optional<std::string_view> input);

/// Sets `out` to the writes of a commit without the values that the entries of its operations have; `out` is empty if
/// the operations contain all of them. Returns false and leaves `out` as it was if there are too many. Errors: as
/// `nameInputValues`.
bool nameLoggedValues(std::string_view writes, std::string_view entries, std::string& out);

/// The sizes of the parts of the two, one after the other: of the writes after the head of their list, and of the
/// entries. An empty list is not known.
struct PartSizes {
    std::span<const std::uint32_t> writes = {};
    std::span<const std::uint32_t> entries = {};
};
/// Does the same for parts whose sizes are known, which it need not decode to find their ends.
bool nameLoggedValues(std::string_view writes, std::string_view entries, const PartSizes& sizes, std::string& out);

}  // namespace stategraph::checkpoint
