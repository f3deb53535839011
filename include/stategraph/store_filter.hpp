#pragma once
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/value.hpp>

namespace stategraph {

namespace stores {
struct FilterNode;
}

/// Selects the items of a search: conditions on fields of their values, all of which must hold. Names and operands are
/// compared as they are, and never interpreted as patterns or code. An empty filter accepts every item.
///
///     auto filter = where("kind").eq("food") && where("likes.count").gte(3);
///
/// Numbers compare by value, whole and real ones alike; texts by their bytes. gt, gte, lt, lte hold only between two
/// numbers or two texts. A field that is missing counts as null. A value type; copies are cheap, and reading one from
/// several threads is safe.
class StoreFilter {
public:
    StoreFilter() = default;

    /// Reads LangGraph's form, a map: {"kind": "food", "likes": {"count": {"$gte": 3}}}. A plain value means equality,
    /// a map that the field is a map of which these entries match, an array the same length and matching elements.
    /// Operators: $eq $ne $gt $gte $lt $lte. Names are taken whole: "a.b" is the one field "a.b". Errors:
    /// InvalidArgumentError for another operator, an operator where a name belongs, both in one map, an operand that
    /// cannot be ordered, or more than the limits below.
    static StoreFilter parse(const Value& filter);

    bool empty() const noexcept { return nodes_.empty(); }
    /// Whether an item's value fulfils all conditions. Cost: one pass over the maps that the paths lead through, for
    /// each condition.
    bool matches(const Value& value) const { return matchesCbor(value.bytes()); }
    /// Whether one well-formed item fulfils all conditions.
    bool matchesCbor(std::string_view item) const;

    friend StoreFilter operator&&(const StoreFilter& a, const StoreFilter& b);

    /// The largest number of conditions, and the greatest depth.
    static constexpr std::size_t conditions_max = 256;
    static constexpr int depth_max = 32;

private:
    friend class FilterField;
    std::vector<std::shared_ptr<const stores::FilterNode>> nodes_;
};

/// A field on which a condition is built; see where(). Each method throws InvalidArgumentError for an operand that it
/// cannot compare with.
class FilterField {
public:
    explicit FilterField(std::vector<std::string> names);

    /// Equal as a whole: maps with the same entries in any order, arrays with the same elements.
    StoreFilter eq(const Value& operand) const;
    StoreFilter ne(const Value& operand) const;
    /// These compare numbers and texts.
    StoreFilter gt(const Value& operand) const;
    StoreFilter gte(const Value& operand) const;
    StoreFilter lt(const Value& operand) const;
    StoreFilter lte(const Value& operand) const;

private:
    StoreFilter make(std::string_view operation, const Value& operand) const;
    std::vector<std::string> names_;
};

/// The field at a path of names, "address.city". For names that contain a dot, use a list: where({"a.b", "c"}); for
/// names that are known only at run time, use FilterField(names). Errors: InvalidArgumentError for an empty name or one
/// that begins with "$".
FilterField where(std::string_view path);
FilterField where(std::initializer_list<std::string> names);

}  // namespace stategraph
