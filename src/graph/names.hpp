#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

// How messages name things.
namespace stategraph::engine {

/// In single quotes.
std::string quoted(std::string_view name);
/// Each in quotes, with commas between.
std::string quotedList(std::span<const std::string_view> names);

/// The name that `wrong` was probably meant to be: the closest by edits, case aside, if it is close enough; of equals
/// the first.
std::optional<std::string_view> closestName(std::string_view wrong, std::span<const std::string_view> names);

}  // namespace stategraph::engine
