#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/value.hpp>

// The parts of a value that are embedded. The grammar:
//
//   path  := "$" | step ("." step)*
//   step  := (name | "*") index*  |  index+           name: no "." "[" "]" "{" "}", not empty, not "*" or "$"
//   index := "[" ("*" | "-"? digits) "]"
namespace stategraph::stores {

struct PathStep {
    enum class Kind : std::uint8_t { name, all_entries, element, all_elements };
    Kind kind = Kind::name;
    std::string name = {};
    std::int64_t index = 0;  // counted from the end if negative
};
/// An empty path means the whole value.
using TextPath = std::vector<PathStep>;

/// Errors: InvalidArgumentError that quotes the path.
TextPath parsePath(std::string_view path);

/// Collects the texts to which the path leads, in order: text as it is, other values as JSON, and null not at all. It
/// collects at most `most`, and one more if there are more.
void collectTexts(const TextPath& path, const Value& value, std::size_t most, std::vector<std::string>& out);

}  // namespace stategraph::stores
