#include "tests/workflow_conformance/expression.hpp"

#include <algorithm>
#include <stdexcept>

#include "tests/conformance/lists.hpp"

namespace workflow_conformance {
namespace {

using conformance::concatenate;
using conformance::length;

json::value numberOr0(const json::value& value) {
    if (value.is_number()) return value;
    if (!isTrue(value)) return 0;
    if (value.is_bool()) return 1;
    throw std::invalid_argument("not a number: " + json::serialize(value));
}

// For two integers, exact if the result fits 64 bits.
json::value addOrMultiply(bool multiplies, const json::array& operands) {
    const json::value a = numberOr0(operands.at(0));
    const json::value b = numberOr0(operands.at(1));
    const auto left = asInteger(a);
    const auto right = asInteger(b);
    std::int64_t exact = 0;
    if (left && right &&
        !(multiplies ? __builtin_mul_overflow(*left, *right, &exact) : __builtin_add_overflow(*left, *right, &exact))) {
        return exact;
    }
    const double x = a.to_number<double>();
    const double y = b.to_number<double>();
    return multiplies ? x * y : x + y;
}

bool isLess(const json::array& operands) {
    return numberOr0(operands.at(0)).to_number<double>() < numberOr0(operands.at(1)).to_number<double>();
}

json::value calculate(std::string_view operation, const json::value& operand) {
    if (operation == "$not") return !isTrue(operand);
    if (operation == "$len") return length(operand);
    if (operation == "$throw") throw std::runtime_error(text(operand));
    const json::array& operands = operand.as_array();
    if (operation == "$add") return addOrMultiply(false, operands);
    if (operation == "$mul") return addOrMultiply(true, operands);
    if (operation == "$lt") return isLess(operands);
    if (operation == "$eq") return canonical(operands.at(0)) == canonical(operands.at(1));
    if (operation == "$and") return std::all_of(operands.begin(), operands.end(), isTrue);
    if (operation == "$concat") return concatenate(operands);
    throw std::invalid_argument("no such operation: " + std::string(operation));
}

}  // namespace

bool isTrue(const json::value& value) {
    switch (value.kind()) {
        case json::kind::null:
            return false;
        case json::kind::bool_:
            return value.get_bool();
        case json::kind::string:
            return !value.get_string().empty();
        case json::kind::array:
        case json::kind::object:
            return true;
        default:
            return value.to_number<double>() != 0;
    }
}

json::value evaluate(const json::value& expression, const Environment& environment) {
    if (const json::array* items = expression.if_array()) {
        json::array list;
        for (const json::value& item : *items) list.push_back(evaluate(item, environment));
        return list;
    }
    const json::object* object = expression.if_object();
    if (object == nullptr) return expression;
    if (object->size() == 1 && object->begin()->key().starts_with('$')) {
        const std::string_view operation = object->begin()->key();
        const json::value& operand = object->begin()->value();
        if (operation == "$") return environment.at(operand.as_string());
        return calculate(operation, evaluate(operand, environment));
    }
    json::object made;
    for (const auto& entry : *object) made.emplace(entry.key(), evaluate(entry.value(), environment));
    return made;
}

}  // namespace workflow_conformance
