#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <stategraph/value.hpp>

namespace stategraph::stores {

/// One condition of a filter, or several on one field.
struct FilterNode {
    enum class Kind : std::uint8_t {
        equal,
        not_equal,
        greater,
        greater_or_equal,
        less,
        less_or_equal,
        map_of,    // the field is a map, and all children match it
        array_of,  // the field is an array of as many elements as there are children, and each matches its own
        all_of,    // all children match the field
    };
    /// From what the node is asked about to the field, name by name; empty: that itself.
    std::vector<std::string> path = {};
    Kind kind = Kind::equal;
    Value operand = {};
    std::vector<FilterNode> children = {};
};

/// Conditions in it, itself included.
std::size_t countConditions(const FilterNode& node);

}  // namespace stategraph::stores
