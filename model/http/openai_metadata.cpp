#include "model/http/openai_metadata.hpp"

#include <array>
#include <string>
#include <utility>

#include <stategraph/detail/json_text.hpp>

#include "model/http/json_access.hpp"

namespace stategraph::model::http {

namespace json = boost::json;

namespace {

constexpr std::string_view extra_content = "extra_content";
constexpr std::string_view reasoning_details = "reasoning_details";

/// Adds the members of a later piece. Objects are merged; any other value replaces the earlier one.
void merge(json::object& into, const json::object& from) {
    for (const auto& each : from) {
        json::value& known = into[each.key()];
        if (known.is_object() && each.value().is_object()) {
            merge(known.get_object(), each.value().get_object());
        } else {
            known = each.value();
        }
    }
}

/// The flag says what the content of this one piece is, and is not for later requests.
json::object withoutThoughtFlag(json::object extra) {
    json::value* const google = extra.if_contains("google");
    if (google == nullptr || !google->is_object()) return extra;
    google->get_object().erase("thought");
    if (google->get_object().empty()) extra.erase("google");
    return extra;
}

/// Returns the member that grows if this detail is streamed in pieces; empty if it is always whole.
std::string_view grownMember(const json::object& detail) {
    const std::string_view type = textOf(detail, "type");
    if (type == "reasoning.text") return "text";
    if (type == "reasoning.summary") return "summary";
    return {};
}

bool continues(const json::object& detail, const json::object& last) {
    return !grownMember(detail).empty() && textOf(detail, "type") == textOf(last, "type") &&
           integerOf(detail, "index") == integerOf(last, "index");
}

void addPiece(json::object& detail, const json::object& piece) {
    const std::string_view grown = grownMember(detail);
    for (const auto& each : piece) {
        if (each.value().is_null()) continue;
        json::value& known = detail[each.key()];
        if (each.key() == grown && known.is_string() && each.value().is_string()) {
            known.get_string() += each.value().get_string();
        } else {
            known = each.value();
        }
    }
}

/// Returns the call to which this element of `tool_calls` belongs, or none if it is no longer in the message.
std::optional<std::size_t> placeOf(const json::object& attached, const Message& message) {
    const std::string_view id = textOf(attached, "id");
    const auto place = static_cast<std::size_t>(integerOf(attached, "index").value_or(-1));
    if (place < message.calls.size() && message.calls[place].provider_id == id) return place;
    for (std::size_t i = 0; i < message.calls.size() && !id.empty(); ++i) {
        if (message.calls[i].provider_id == id) return i;
    }
    return {};
}

void putMember(json::object& sent, const json::object& attached, std::string_view name) {
    if (const json::value* const value = member(attached, name)) sent.emplace(name, *value);
}

void putAttached(json::object& sent, const Message& message, const json::object& attached) {
    putMember(sent, attached, extra_content);
    putMember(sent, attached, reasoning_details);
    const json::array* const calls = arrayOf(attached, "tool_calls");
    json::value* const sent_calls = sent.if_contains("tool_calls");
    if (calls == nullptr || sent_calls == nullptr) return;
    for (const json::value& each : *calls) {
        const json::object* const call = each.if_object();
        const auto place = call != nullptr ? placeOf(*call, message) : std::nullopt;
        if (place) putMember(sent_calls->at(*place).as_object(), *call, extra_content);
    }
}

}  // namespace

void OpenAiMetadata::takeDetails(const json::array& details) {
    json::value& known = message_[reasoning_details];
    if (!known.is_array()) known = json::array();
    json::array& all = known.get_array();
    for (const json::value& each : details) {
        const json::object* const detail = each.if_object();
        json::object* const last = all.empty() ? nullptr : all.back().if_object();
        if (detail != nullptr && last != nullptr && continues(*detail, *last)) {
            addPiece(*last, *detail);
        } else {
            all.push_back(each);
        }
    }
}

void OpenAiMetadata::takeDelta(const json::object& delta) {
    if (const json::object* const extra = objectOf(delta, extra_content)) {
        const json::object attached = withoutThoughtFlag(*extra);
        if (!attached.empty()) merge(message_, {{extra_content, attached}});
    }
    const json::array* const details = arrayOf(delta, reasoning_details);
    if (details != nullptr && !details->empty()) takeDetails(*details);
}

void OpenAiMetadata::takeCall(std::size_t place, const json::object& delta) {
    if (const json::object* const extra = objectOf(delta, extra_content)) merge(calls_[place], *extra);
}

std::optional<ProviderPart> OpenAiMetadata::part(const Message& answer, std::string_view host) const {
    if (message_.empty() && calls_.empty()) return {};
    json::object attached = message_;
    json::array calls;
    for (const auto& [place, extra] : calls_) {
        if (place >= answer.calls.size()) continue;
        calls.push_back({{"index", place}, {"id", answer.calls[place].provider_id}, {extra_content, extra}});
    }
    if (!calls.empty()) attached["tool_calls"] = std::move(calls);
    ProviderPart part{.kind = ProviderPartKind::metadata, .format = std::string(openai_format)};
    part.name = host;
    part.data = stategraph::detail::jsonText(attached);
    return part;
}

void putMetadata(json::object& sent, const Message& message, std::string_view host) {
    for (const Part& each : message.content) {
        const auto* const part = std::get_if<ProviderPart>(&each);
        if (part == nullptr || part->kind != ProviderPartKind::metadata) continue;
        if (part->format != openai_format || part->name != host) continue;
        const std::optional<json::value> attached = parseJsonText(part->data);
        if (attached && attached->is_object()) putAttached(sent, message, attached->get_object());
    }
}

bool isGoogleThought(const json::object& delta) {
    const json::object* const extra = objectOf(delta, extra_content);
    const json::object* const google = extra != nullptr ? objectOf(*extra, "google") : nullptr;
    const json::value* const thought = google != nullptr ? member(*google, "thought") : nullptr;
    return thought != nullptr && thought->is_bool() && thought->get_bool();
}

}  // namespace stategraph::model::http
