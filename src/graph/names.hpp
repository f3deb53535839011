#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

// How messages show names.
namespace stategraph::engine {

/// Puts a name into single quotes.
std::string inQuotes(std::string_view name);
/// Puts each name into quotes, and commas between them.
std::string quotedList(std::span<const std::string_view> names);

/// Returns the name that `wrong` was probably meant to be: the one with the fewest edits, ignoring case, if it is close
/// enough. Of equally close names, the first is returned.
std::optional<std::string_view> closestName(std::string_view wrong, std::span<const std::string_view> names);

/// What to do about a name that no node has, as the end of a sentence: names the node, or END or START, that was
/// probably meant.
std::string adviceOn(std::string_view wrong, std::span<const std::string_view> names);

}  // namespace stategraph::engine
