#include "model/http/strict_schema.hpp"

#include <algorithm>

#include "model/http/json_access.hpp"

namespace stategraph::model::http {

namespace json = boost::json;

bool isStrictSchema(const json::value& schema) {
    if (const json::array* list = schema.if_array()) return std::all_of(list->begin(), list->end(), isStrictSchema);
    const json::object* object = schema.if_object();
    if (object == nullptr) return true;
    if (const json::object* properties = objectOf(*object, "properties")) {
        const json::value* others = member(*object, "additionalProperties");
        if (others == nullptr || *others != json::value(false)) return false;
        const json::array* required = arrayOf(*object, "required");
        if ((required != nullptr ? required->size() : 0) < properties->size()) return false;
    } else if (textOf(*object, "type") == "object") {
        return false;  // an object with any members
    }
    return std::all_of(object->begin(), object->end(), [](const auto& each) { return isStrictSchema(each.value()); });
}

}  // namespace stategraph::model::http
