#pragma once
#include <algorithm>
#include <stdexcept>
#include <string>

#include "tests/conformance/scenario.hpp"

// The operations $len and $concat of expressions, for the scenarios of graphs and of workflows.
namespace conformance {

inline json::value length(const json::value& value) {
    switch (value.kind()) {
        case json::kind::null:
            return 0;
        case json::kind::string:
            return value.get_string().size();
        case json::kind::array:
            return value.get_array().size();
        case json::kind::object:
            return value.get_object().size();
        default:
            throw std::invalid_argument("has no length: " + json::serialize(value));
    }
}

/// Joins strings; anything else becomes one list, flattened by one level, without nulls.
inline json::value concatenate(const json::array& parts) {
    if (std::all_of(parts.begin(), parts.end(), [](const json::value& part) { return part.is_string(); })) {
        json::string joined;
        for (const json::value& part : parts) joined += part.get_string();
        return joined;
    }
    json::array list;
    for (const json::value& part : parts) {
        if (part.is_null()) continue;
        if (const json::array* items = part.if_array()) {
            list.insert(list.end(), items->begin(), items->end());
        } else {
            list.push_back(part);
        }
    }
    return list;
}

}  // namespace conformance
