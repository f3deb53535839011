#include "tests/conformance/expression.hpp"

#include <algorithm>
#include <stdexcept>

#include "tests/conformance/lists.hpp"

namespace conformance {
namespace {

json::value numberOr0(const json::value& value) {
    if (value.is_number()) return value;
    if (!isTrue(value)) return 0;
    if (value.is_bool()) return 1;
    throw std::invalid_argument("not a number: " + json::serialize(value));
}

json::value add(const json::value& left, const json::value& right) {
    const json::value a = numberOr0(left);
    const json::value b = numberOr0(right);
    if (a.is_double() || b.is_double()) return a.to_number<double>() + b.to_number<double>();
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a.to_number<std::int64_t>(), b.to_number<std::int64_t>(), &sum)) {
        throw std::invalid_argument("the sum is too large: " + json::serialize(left) + " + " + json::serialize(right));
    }
    return sum;
}

json::value calculate(std::string_view operation, const json::value& operand) {
    if (operation == "$not") return !isTrue(operand);
    if (operation == "$len") return length(operand);
    const json::array& operands = operand.as_array();
    if (operation == "$concat") return concatenate(operands);
    if (operation == "$add") return add(operands.at(0), operands.at(1));
    if (operation == "$lt")
        return numberOr0(operands.at(0)).to_number<double>() < numberOr0(operands.at(1)).to_number<double>();
    if (operation == "$eq") return operands.at(0) == operands.at(1);
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
            return !value.get_array().empty();
        case json::kind::object:
            return !value.get_object().empty();
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
        const std::string operation(object->begin()->key());
        const json::value& operand = object->begin()->value();
        if (operation == "$") {
            const json::object* input = environment.input != nullptr ? environment.input->if_object() : nullptr;
            return input != nullptr ? get(*input, text(operand)) : json::value();
        }
        if (operation == "$var") {
            const auto found = environment.variables.find(text(operand));
            return found != environment.variables.end() ? found->second : json::value();
        }
        return calculate(operation, evaluate(operand, environment));
    }
    json::object made;
    for (const auto& entry : *object) made.emplace(entry.key(), evaluate(entry.value(), environment));
    return made;
}

sg::Target evaluateTarget(const json::value& target, const Environment& environment) {
    if (target.is_string()) return sg::Target(text(target));
    const json::object& send = target.as_object();
    return sg::Send(text(get(send, "send")), evaluate(get(send, "arg"), environment));
}

}  // namespace conformance
