#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

#include <boost/json.hpp>

// Applies JSON Patches (RFC 6902), for tests.
namespace json_patch {

namespace json = boost::json;

inline std::string unescaped(std::string_view step) {
    std::string out;
    for (std::size_t i = 0; i < step.size(); ++i) {
        if (step[i] != '~') {
            out += step[i];
        } else {
            out += step.at(++i) == '1' ? '/' : '~';
        }
    }
    return out;
}

inline void apply(json::value& value, std::string_view op, std::string_view path, const json::value* given) {
    if (path.empty()) {
        if (op != "replace") throw std::runtime_error("only a replacement of the whole is known");
        value = *given;
        return;
    }
    path.remove_prefix(1);
    const std::size_t slash = path.find('/');
    const std::string step = unescaped(path.substr(0, slash));
    const bool is_last = slash == std::string_view::npos;
    if (json::array* const list = value.if_array()) {
        const std::size_t index = std::stoul(step);
        if (!is_last) return apply(list->at(index), op, path.substr(slash), given);
        if (op == "add") {
            if (index > list->size()) throw std::runtime_error("the index is behind the end");
            list->insert(list->begin() + static_cast<std::ptrdiff_t>(index), *given);
        } else if (op == "remove") {
            (void)list->at(index);
            list->erase(list->begin() + static_cast<std::ptrdiff_t>(index));
        } else {
            list->at(index) = *given;
        }
        return;
    }
    json::object& object = value.as_object();
    if (!is_last) return apply(object.at(step), op, path.substr(slash), given);
    if (op == "add") {
        object[step] = *given;
    } else if (op == "remove") {
        (void)object.at(step);
        object.erase(step);
    } else {
        object.at(step) = *given;
    }
}

/// Errors: std::exception if an operation does not fit.
inline json::value applied(json::value value, const json::array& patch) {
    for (const json::value& each : patch) {
        const json::object& operation = each.as_object();
        apply(value, std::string_view(operation.at("op").as_string()),
              std::string_view(operation.at("path").as_string()), operation.if_contains("value"));
    }
    return value;
}

}  // namespace json_patch
