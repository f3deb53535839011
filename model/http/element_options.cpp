#include "model/http/element_options.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include <stategraph/model/model.hpp>

#include "model/http/json_access.hpp"

namespace stategraph::model::http {

namespace json = boost::json;

namespace {

const ProviderPart* optionsIn(const Part& part, std::string_view format) {
    const auto* const own = std::get_if<ProviderPart>(&part);
    return own != nullptr && own->kind == ProviderPartKind::options && own->format == format ? own : nullptr;
}

}  // namespace

void putElementExtra(json::object& element, const Value& extra, std::string_view format, std::string_view what) {
    if (extra.isNull()) return;
    const json::object formats = parseObject(extra.toJson(), what);
    const json::value* const own = member(formats, format);
    if (own == nullptr || own->is_null()) return;
    if (!own->is_object())
        throw ModelError(std::string(what) + " must have a JSON object for each format; nothing was sent", {});
    mergeMembers(element, own->get_object());
}

bool hasOptions(const Message& message, std::string_view format) {
    return std::ranges::any_of(message.content, [&](const Part& part) { return optionsIn(part, format) != nullptr; });
}

void PartOptions::take(const Part& part, json::array& list) {
    const ProviderPart* const own = optionsIn(part, format_);
    if (own == nullptr) return;
    const json::object members = parseObject(own->data, "the options in a message");
    if (list.size() > begin_) return mergeMembers(list.back().as_object(), members);
    for (const auto& each : members) message_[each.key()] = each.value();  // with its nulls
}

void PartOptions::putOnMessage(json::object& element) const { mergeMembers(element, message_); }

}  // namespace stategraph::model::http
