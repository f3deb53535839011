#include "tests/workflow_conformance/schema.hpp"

#include <algorithm>
#include <stdexcept>

namespace workflow_conformance {
namespace {

void require(bool fits) {
    if (!fits) throw std::invalid_argument("validation failed");
}

bool isListed(const json::value& list, const json::value& value) {
    const json::array* items = list.if_array();
    if (items == nullptr) return false;
    const json::value wanted = canonical(value);
    return std::any_of(items->begin(), items->end(),
                       [&](const json::value& item) { return canonical(item) == wanted; });
}

json::value validateObject(const json::object& schema, const json::value& value) {
    require(value.is_object());
    json::object result;
    const json::object* properties = get(schema, "properties").if_object();
    if (properties == nullptr) return result;
    for (const auto& property : *properties) {
        const json::value* member = value.get_object().if_contains(property.key());
        const bool has_default = property.value().as_object().contains("default");
        if (member == nullptr && !has_default && !isListed(get(schema, "required"), json::string(property.key())))
            continue;
        result.emplace(property.key(), validate(property.value(), member != nullptr ? *member : json::value()));
    }
    return result;
}

json::value validateArray(const json::object& schema, const json::value& value) {
    require(value.is_array());
    json::array result;
    for (const json::value& item : value.get_array()) result.push_back(validate(get(schema, "items"), item));
    return result;
}

}  // namespace

json::value validate(const json::value& schema, const json::value& value) {
    if (schema.is_null()) return value;
    const json::object& rules = schema.as_object();
    if (const json::value* standard = rules.if_contains("default"); standard != nullptr && value.is_null())
        return *standard;
    if (const json::value* choices = rules.if_contains("enum")) require(isListed(*choices, value));
    const json::value& type = get(rules, "type");
    if (type == "object") return validateObject(rules, value);
    if (type == "array") return validateArray(rules, value);
    if (type == "string") require(value.is_string());
    if (type == "boolean") require(value.is_bool());
    if (type == "number") require(value.is_number());
    if (const json::value* least = rules.if_contains("minimum"); least != nullptr && value.is_number()) {
        require(value.to_number<double>() >= least->to_number<double>());
    }
    return value;
}

flow::Check checkOf(const json::value& schema) {
    if (schema.is_null()) return {};
    return [&schema](const sg::Value& value) { return sg::fromJson(validate(schema, sg::toJsonValue(value))); };
}

flow::Check checkOfQuestion(const json::value& schema) {
    if (schema.is_null()) return {};
    return [check = checkOf(schema)](const sg::Value& value) { return value.isNull() ? value : check(value); };
}

}  // namespace workflow_conformance
