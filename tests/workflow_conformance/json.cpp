#include "tests/workflow_conformance/json.hpp"

#include <algorithm>
#include <stdexcept>

namespace workflow_conformance {

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
