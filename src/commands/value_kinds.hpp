#pragma once
#include <string>
#include <string_view>

namespace stategraph::commands {

/// Compares the kinds of two values, each one CBOR item, down to the members that both maps have and to the elements of
/// lists whose stored elements are all of one kind. A whole number fits where a number with a fraction is stored, and a
/// null fits anything but the whole value. Returns the first difference as a phrase, such as "a number is stored at
/// /price, and a text is given"; empty if there is none. Errors: WrongTypeError for bytes that are not CBOR. Cost: one
/// pass over both.
std::string kindDifference(std::string_view stored, std::string_view given);

}  // namespace stategraph::commands
