#pragma once
#include <compare>
#include <optional>
#include <string_view>

// Comparing stored values without decoding them. All take single, well-formed CBOR items.
namespace stategraph::stores {

inline constexpr std::string_view null_item = "\xf6";

/// Two numbers by value, exactly, or two texts (or two byte strings) by their bytes; unordered for anything else and
/// for NaN.
std::partial_ordering compareItems(std::string_view a, std::string_view b);

/// Equal by value: numbers as above, maps in any order of their entries.
bool equalItems(std::string_view a, std::string_view b);

/// What a map has under a text key; none if it has no such entry or is no map. Of equal keys the first counts.
std::optional<std::string_view> findEntry(std::string_view item, std::string_view name);

}  // namespace stategraph::stores
