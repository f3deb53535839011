#pragma once
#include <compare>
#include <optional>
#include <string_view>

// Compares stored values without decoding them. All arguments must be single, well-formed CBOR items.
namespace stategraph::stores {

inline constexpr std::string_view null_item = "\xf6";

/// Compares two numbers exactly by value, or two texts (or two byte strings) by their bytes. The result is unordered
/// for anything else and for NaN.
std::partial_ordering compareItems(std::string_view a, std::string_view b);

/// Returns whether two items are equal by value: numbers as above, and maps in any order of their entries.
bool equalItems(std::string_view a, std::string_view b);

/// Returns the value in a map under a text key, or none if it has no such entry or is not a map. The first of equal
/// keys counts.
std::optional<std::string_view> findEntry(std::string_view item, std::string_view name);

}  // namespace stategraph::stores
