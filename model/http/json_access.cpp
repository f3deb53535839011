#include "model/http/json_access.hpp"

#include <stategraph/detail/json_reading.hpp>
#include <stategraph/model/model.hpp>

namespace stategraph::model::http {

namespace json = boost::json;

const json::value* member(const json::object& object, std::string_view name) { return object.if_contains(name); }

const json::object* objectOf(const json::object& object, std::string_view name) {
    const json::value* found = member(object, name);
    return found != nullptr ? found->if_object() : nullptr;
}

const json::array* arrayOf(const json::object& object, std::string_view name) {
    const json::value* found = member(object, name);
    return found != nullptr ? found->if_array() : nullptr;
}

std::string_view textOf(const json::object& object, std::string_view name) {
    const json::value* found = member(object, name);
    const json::string* text = found != nullptr ? found->if_string() : nullptr;
    return text != nullptr ? std::string_view(text->data(), text->size()) : std::string_view();
}

std::optional<std::int64_t> integerOf(const json::object& object, std::string_view name) {
    const json::value* found = member(object, name);
    if (found == nullptr || !found->is_int64()) return {};
    return found->get_int64();
}

std::optional<json::value> parseJsonText(std::string_view text) {
    auto read = stategraph::detail::readJson(text, 256);
    if (read.error) return {};
    return std::move(read.value);
}

json::object parseObject(std::string_view text, std::string_view what) {
    std::optional<json::value> parsed = parseJsonText(text);
    if (!parsed || !parsed->is_object())
        throw ModelError(std::string(what) + " must be a JSON object; nothing was sent", {});
    return std::move(parsed->get_object());
}

void putMembers(json::object& object, const json::object& members) {
    for (const auto& each : members) {
        if (each.value().is_null()) {
            object.erase(each.key());
        } else {
            object[each.key()] = each.value();
        }
    }
}

void mergeMembers(json::object& object, const json::object& members) {
    for (const auto& each : members) {
        json::value* const known = object.if_contains(each.key());
        if (each.value().is_null()) {
            object.erase(each.key());
        } else if (known != nullptr && known->is_object() && each.value().is_object()) {
            mergeMembers(known->get_object(), each.value().get_object());
        } else {
            object[each.key()] = each.value();
        }
    }
}

void putExtra(json::object& body, const Value& defaults, const Value& own) {
    for (const Value* extra : {&defaults, &own}) {
        if (!extra->isNull()) putMembers(body, parseObject(extra->toJson(), "Settings::extra"));
    }
}

}  // namespace stategraph::model::http
