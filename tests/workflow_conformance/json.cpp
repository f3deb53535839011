#include "tests/workflow_conformance/json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace workflow_conformance {

std::optional<std::int64_t> asInteger(const json::value& value) {
    if (value.is_int64()) return value.get_int64();
    if (value.is_uint64()) {
        const std::uint64_t number = value.get_uint64();
        if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
        return static_cast<std::int64_t>(number);
    }
    if (!value.is_double()) return std::nullopt;
    const double number = value.get_double();
    if (std::floor(number) != number || std::fabs(number) >= 9e15) return std::nullopt;
    return static_cast<std::int64_t>(number);
}

json::value canonical(const json::value& value) {
    if (const json::object* object = value.if_object()) {
        std::vector<std::string> keys;
        for (const auto& entry : *object) keys.emplace_back(entry.key());
        std::sort(keys.begin(), keys.end());
        json::object sorted;
        for (const auto& key : keys) sorted.emplace(key, canonical(object->at(key)));
        return sorted;
    }
    if (const json::array* array = value.if_array()) {
        json::array items;
        for (const json::value& item : *array) items.push_back(canonical(item));
        return items;
    }
    const auto integer = asInteger(value);
    return integer ? json::value(*integer) : value;
}

void order(std::vector<json::value>& items) {
    std::sort(items.begin(), items.end(),
              [](const json::value& a, const json::value& b) { return json::serialize(a) < json::serialize(b); });
}

flow::Values valuesOf(const json::value& object) {
    if (!object.is_object()) throw std::invalid_argument("not a state: " + json::serialize(object));
    flow::Values values;
    for (const auto& entry : object.get_object()) values.emplace(entry.key(), sg::fromJson(entry.value()));
    return values;
}

json::object jsonOf(const flow::Values& values) {
    json::object object;
    for (const auto& [name, value] : values) object.emplace(name, sg::toJsonValue(value));
    return object;
}

}  // namespace workflow_conformance
