#include "model/http/responses_items.hpp"

#include <utility>

#include <stategraph/detail/json_text.hpp>

#include "model/http/json_access.hpp"

namespace stategraph::model::http {

namespace json = boost::json;

bool isOwnCall(const json::object& item) {
    const std::string_view type = textOf(item, "type");
    return type.ends_with("_call") && type != "function_call";
}

void ResponsesItems::add(std::int64_t place, json::object item, std::size_t text_size) {
    const std::string type(textOf(item, "type"));
    if (type == "message") {
        // A newer member says what the message is for, and is required again.
        is_needed_ = is_needed_ || member(item, "phase") != nullptr;
        item.erase("content");
        item["text_size"] = text_size;
    } else if (type == "function_call") {
        item.erase("name");
        item.erase("arguments");
    } else {
        is_needed_ = true;
        if (isOwnCall(item)) item = json::object{{"type", type}, {"id", json::string(textOf(item, "id"))}};
    }
    items_[place] = std::move(item);
}

std::optional<ProviderPart> ResponsesItems::part(const ItemOrigin& origin) const {
    if (!is_needed_) return {};
    ProviderPart part{.kind = ProviderPartKind::metadata, .format = std::string(responses_format)};
    part.name = origin.host;
    json::array items;
    for (const auto& [place, item] : items_) items.push_back(item);
    part.data = stategraph::detail::jsonText(json::object{{"model", origin.model}, {"items", std::move(items)}});
    return part;
}

std::optional<json::array> keptItems(const Message& message, const ItemOrigin& origin) {
    for (const Part& each : message.content) {
        const auto* const part = std::get_if<ProviderPart>(&each);
        if (part == nullptr || part->kind != ProviderPartKind::metadata) continue;
        if (part->format != responses_format || part->name != origin.host) continue;
        std::optional<json::value> kept = parseJsonText(part->data);
        json::object* const object = kept ? kept->if_object() : nullptr;
        if (object == nullptr || textOf(*object, "model") != origin.model) continue;
        json::value* const items = object->if_contains("items");
        if (items != nullptr && items->is_array()) return std::move(items->get_array());
    }
    return {};
}

}  // namespace stategraph::model::http
