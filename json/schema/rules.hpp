#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "json/schema/pattern.hpp"

// A JSON Schema as it is applied: schemas by number, each with its rules.
namespace stategraph::schema {

/// What a rule demands. Keywords that mean the same are one: `$ref` is an `all_of` of one schema.
enum class Word : std::uint8_t {
    never,
    type,
    one_value,  // enum and const
    minimum,
    maximum,
    exclusive_minimum,
    exclusive_maximum,
    multiple_of,
    min_length,
    max_length,
    pattern,
    min_items,
    max_items,
    unique_items,
    min_properties,
    max_properties,
    required,
    all_of,
    any_of,
    one_of,
    none_of,
    conditional,  // children: if, then, else
    properties,
    pattern_properties,
    additional_properties,
    property_names,
    prefix_items,
    items,
    contains
};

constexpr std::size_t no_schema = std::numeric_limits<std::size_t>::max();

/// A schema in a rule: for the member with that name, or for those whose names match.
struct Child {
    std::size_t schema = no_schema;
    std::string_view name = {};
    const Pattern* pattern = nullptr;
};

struct Rule {
    Word word;
    /// What the keyword says.
    const boost::json::value* given = nullptr;
    /// The rule holds for objects with this member alone (`dependentRequired` and the like), if it is set.
    std::optional<std::string> only_with = {};
    /// Of `properties`, sorted by name.
    std::vector<Child> children = {};
    const Pattern* pattern = nullptr;
    /// A least or a greatest number, a set of types, or at which item `items` begins.
    std::uint64_t number = 0;
    /// The greatest number of `contains`.
    std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

struct Node {
    const boost::json::value* written = nullptr;
    std::vector<Rule> rules = {};
    /// Several ways lead here, so that a value may come here again.
    bool is_shared = false;

    const Rule* find(Word word) const noexcept {
        for (const Rule& rule : rules) {
            if (rule.word == word) return &rule;
        }
        return nullptr;
    }
};

/// Immutable. Its parts refer to each other, so it stays where it is.
struct Schema {
    boost::json::value text;
    std::vector<Node> nodes = {};
    std::map<std::string_view, Pattern> patterns = {};
    std::size_t root = 0;
};

/// The types of JSON Schema, as bits of a set.
enum Type : std::uint64_t {
    null_type = 1,
    boolean_type = 2,
    object_type = 4,
    array_type = 8,
    string_type = 16,
    integer_type = 32,
    number_type = 64
};
constexpr std::string_view type_names[] = {"null", "boolean", "object", "array", "string", "integer", "number"};

/// Reads a schema. Errors: InvalidArgumentError for what is no schema, or has keywords that are not checked here.
std::shared_ptr<const Schema> readSchema(std::string_view text);

}  // namespace stategraph::schema
