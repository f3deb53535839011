#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/value.hpp>

// Conditions over a stored state, such as `total < 0 and not paid`. The grammar:
//
//   condition  := all ("or" all)*                      "||" and "&&" are "or" and "and", "!" is "not"
//   all        := one ("and" one)*
//   one        := "not" one | "(" condition ")" | operand (comparison operand)?
//   comparison := "==" | "!=" | "<" | "<=" | ">" | ">=" | "contains"
//   operand    := path | "size" "(" path ")" | number | text | "true" | "false" | "null"      text: as in JSON
//   path       := name ("." name | "[" digits "]" | "[" text "]")* | "[" text "]" …           name: letters, digits, _
//
// A path begins with a channel. What does not exist is null. Numbers compare by value; <, <=, > and >= hold only
// between two numbers or two texts; `contains` looks for a text in a text, an item in a list, or a key in an object. An
// operand alone holds unless it is null or false. The size of a text is in bytes, of a list in items, of an object in
// members, and of anything else null.
namespace stategraph::inspect {

class Condition {
public:
    static constexpr std::size_t length_max = 4096;
    static constexpr int depth_max = 64;

    /// Errors: InvalidArgumentError that shows the place in the text and says what was expected there.
    explicit Condition(std::string_view text);

    /// Whether a state, {channel: value}, fulfils it. Cost: one pass over the objects that each path leads through.
    bool holds(const Value& state) const { return holds(root_, state.bytes()); }

    /// A path that occurs in it, as it was written, with its value in a state.
    struct Found {
        std::string path;
        Value value;
    };
    /// The value of each path, in the order of the text, each path once.
    std::vector<Found> valuesIn(const Value& state) const;

private:
    struct Step {
        std::string name = {};
        std::size_t index = 0;
        bool is_index = false;
    };
    enum class Kind : std::uint8_t { any, all, none, is, compare };
    enum class Test : std::uint8_t { equal, differs, less, not_more, more, not_less, contains };
    struct Operand {
        std::string text = {};        // of a path, as it was written
        std::vector<Step> path = {};  // empty: a literal
        bool is_size = false;
        Value literal = {};
    };
    struct Node {
        Kind kind = Kind::is;
        Test test = Test::equal;
        std::vector<Node> children = {};
        std::vector<Operand> operands = {};
    };
    class Parser;

    static bool holds(const Node& node, std::string_view state);
    static bool compares(Test test, std::string_view a, std::string_view b);
    static Value valueOf(const Operand& operand, std::string_view state);
    static void collect(const Node& node, std::string_view state, std::vector<Found>& out);

    Node root_;
};

}  // namespace stategraph::inspect
