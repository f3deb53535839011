#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <stategraph/value.hpp>

namespace stategraph::stores {

/// One condition of a filter, or several conditions on one field.
struct FilterNode {
    enum class Kind : std::uint8_t {
        equal,
        not_equal,
        greater,
        greater_or_equal,
        less,
        less_or_equal,
        map_of,  // the field is a map that all children match
        // The field is an array with as many elements as there are children, each of which matches its element.
        array_of,
        all_of,  // all children match the field
    };
    /// Leads name by name from the value that the node checks to the field. Empty means the value itself.
    std::vector<std::string> path = {};
    Kind kind = Kind::equal;
    Value operand = {};
    std::vector<FilterNode> children = {};
};

/// Returns the number of conditions in the node, including itself.
std::size_t countConditions(const FilterNode& node);

}  // namespace stategraph::stores
