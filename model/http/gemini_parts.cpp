#include "model/http/gemini_parts.hpp"

#include <cstdint>
#include <utility>
#include <variant>

#include <stategraph/detail/json_text.hpp>

#include "model/http/json_access.hpp"

namespace stategraph::model::http {

namespace json = boost::json;

void GeminiParts::add(std::string_view kind, std::size_t size, std::string_view signature) {
    is_signed_ = is_signed_ || !signature.empty();
    json::object* const last = parts_.empty() ? nullptr : &parts_.back().as_object();
    const bool is_text = kind == "text" || kind == "thought";
    // Pieces are joined up to the one with a signature, which may be empty.
    if (is_text && last != nullptr && textOf(*last, "kind") == kind && textOf(*last, "signature").empty() &&
        (signature.empty() || size > 0)) {
        (*last)["size"] = integerOf(*last, "size").value_or(0) + static_cast<std::int64_t>(size);
        if (!signature.empty()) (*last)["signature"] = signature;
        return;
    }
    if (is_text && size == 0 && signature.empty()) return;
    json::object part{{"kind", kind}};
    if (is_text) part["size"] = static_cast<std::int64_t>(size);
    if (!signature.empty()) part["signature"] = signature;
    parts_.push_back(std::move(part));
}

std::optional<ProviderPart> GeminiParts::part(std::string_view host) const {
    if (!is_signed_) return {};
    ProviderPart part{.kind = ProviderPartKind::metadata, .format = std::string(gemini_format)};
    part.name = host;
    part.data = stategraph::detail::jsonText(json::object{{"parts", parts_}});
    return part;
}

std::optional<json::array> keptParts(const Message& message, std::string_view host) {
    for (const Part& each : message.content) {
        const auto* const part = std::get_if<ProviderPart>(&each);
        if (part == nullptr || part->kind != ProviderPartKind::metadata) continue;
        if (part->format != gemini_format || part->name != host) continue;
        std::optional<json::value> kept = parseJsonText(part->data);
        json::object* const object = kept ? kept->if_object() : nullptr;
        json::value* const parts = object != nullptr ? object->if_contains("parts") : nullptr;
        if (parts != nullptr && parts->is_array()) return std::move(parts->get_array());
    }
    return {};
}

}  // namespace stategraph::model::http
