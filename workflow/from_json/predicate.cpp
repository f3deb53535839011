#include "workflow/from_json/predicate.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <functional>
#include <vector>

#include <stategraph/error.hpp>

#include "workflow/from_json/path.hpp"
#include "workflow/from_json/template.hpp"

namespace stategraph::workflow::from_json {
namespace {

namespace json = boost::json;

[[noreturn]] void fail(const std::string& text) { throw InvalidArgumentError("a condition " + text); }

std::partial_ordering orderOf(const json::value& a, const json::value& b) {
    if (a.is_number() && b.is_number()) {
        if (a.is_int64() && b.is_int64()) return a.get_int64() <=> b.get_int64();
        return a.to_number<double>() <=> b.to_number<double>();
    }
    if (a.is_string() && b.is_string()) return std::string_view(a.get_string()) <=> std::string_view(b.get_string());
    throw InvalidArgumentError("lt, le, gt and ge compare two numbers or two texts; here they are " +
                               json::serialize(a) + " and " + json::serialize(b));
}

bool isIn(const json::value& value, const json::value& list) {
    const json::array* const of = list.if_array();
    if (of == nullptr) throw InvalidArgumentError("\"in\" needs a list, not " + json::serialize(list));
    return std::ranges::any_of(*of, [&](const json::value& each) { return isEqual(value, each); });
}

using Compare = bool (*)(const json::value&, const json::value&);
struct Operator {
    std::string_view name;
    Compare holds;
};
constexpr std::array<Operator, 8> operators{{
    {"eq", [](const json::value& a, const json::value& b) { return isEqual(a, b); }},
    {"ne", [](const json::value& a, const json::value& b) { return !isEqual(a, b); }},
    {"lt", [](const json::value& a, const json::value& b) { return orderOf(a, b) < 0; }},
    {"le", [](const json::value& a, const json::value& b) { return orderOf(a, b) <= 0; }},
    {"gt", [](const json::value& a, const json::value& b) { return orderOf(a, b) > 0; }},
    {"ge", [](const json::value& a, const json::value& b) { return orderOf(a, b) >= 0; }},
    {"in", isIn},
    {"exists", [](const json::value& a, const json::value& b) { return b.is_bool() && a.is_null() != b.get_bool(); }},
}};

/// A condition over values of which each is read once, however many comparisons it has. What it is compared with is
/// made for each, so all of them together make no more than is left.
using Test = std::function<bool(Roots& roots, std::size_t& left)>;

Test testOf(const json::value& json, std::size_t bytes_max);

Test comparison(const json::object& object, std::size_t bytes_max) {
    const json::string* const path = object.at("path").if_string();
    if (path == nullptr || object.size() != 2)
        fail("with a path has that, which is a text, and one of eq, ne, lt, le, gt, ge, in and exists");
    for (const auto& member : object) {
        if (member.key() == "path") continue;
        const auto found = std::ranges::find(operators, std::string_view(member.key()), &Operator::name);
        if (found == operators.end())
            fail("has no operator '" + std::string(member.key()) +
                 "'; there are eq, ne, lt, le, gt, ge, in and exists");
        if (found->name == "exists" && !member.value().is_bool()) fail("with exists needs true or false");
        return [at = Path(*path), holds = found->holds, with = Template(member.value(), bytes_max)](
                   Roots& roots, std::size_t& left) { return holds(at.in(roots), with.fill(roots, left)); };
    }
    fail("needs an operator");
}

std::vector<Test> testsOf(const json::value& value, std::size_t bytes_max) {
    const json::array* const list = value.if_array();
    if (list == nullptr) fail("with all or any needs a list of conditions");
    std::vector<Test> tests;
    for (const json::value& each : *list) tests.push_back(testOf(each, bytes_max));
    return tests;
}

Test testOf(const json::value& json, std::size_t bytes_max) {
    if (json.is_bool()) return [holds = json.get_bool()](Roots&, std::size_t&) { return holds; };
    const json::object* const object = json.if_object();
    if (object == nullptr || object->empty()) fail("is an object or a boolean");
    if (object->contains("path")) return comparison(*object, bytes_max);
    const auto& only = *object->begin();
    if (object->size() != 1) fail("has one of all, any, not and path");
    if (only.key() == "not") {
        return [test = testOf(only.value(), bytes_max)](Roots& roots, std::size_t& left) { return !test(roots, left); };
    }
    const bool all = only.key() == "all";
    if (!all && only.key() != "any") fail("has one of all, any, not and path, not '" + std::string(only.key()) + "'");
    return [all, tests = testsOf(only.value(), bytes_max)](Roots& roots, std::size_t& left) {
        const auto holds = [&](const Test& each) { return each(roots, left); };
        return all ? std::ranges::all_of(tests, holds) : std::ranges::any_of(tests, holds);
    };
}

}  // namespace

Condition predicateOf(const json::value& json, std::size_t bytes_max) {
    return [test = testOf(json, bytes_max), bytes_max](const Scope& scope) {
        Roots roots(scope);
        std::size_t left = 8 * bytes_max;
        return test(roots, left);
    };
}

}  // namespace stategraph::workflow::from_json
