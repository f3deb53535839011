#include "serve/ag_ui_messages.hpp"

#include <array>
#include <utility>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/error.hpp>

#include "serve/told.hpp"

namespace stategraph::serve {

namespace json = boost::json;

namespace {

constexpr std::string_view renamed = "user-";

/// A file, by what it is.
json::object shownFile(const json::object& part) {
    const std::string media = textOf(part, "media_type");
    const std::string url = textOf(part, "url");
    std::string kind = "document";
    for (const std::string_view each : {"image", "audio", "video"}) {
        if (media.starts_with(std::string(each) + "/")) kind = each;
    }
    json::object source{{"type", url.empty() ? "data" : "url"}, {"value", url.empty() ? textOf(part, "data") : url}};
    source["mimeType"] = media;
    return {{"type", kind}, {"source", std::move(source)}};
}

/// The content of a person's message: a text, or parts if it has files.
json::value shownContent(const json::object& message) {
    json::array parts;
    std::string text;
    bool has_files = false;
    for (const json::object& part : partsIn(message)) {
        const std::string type = textOf(part, "type");
        if (type == "text") {
            text += textOf(part, "text");
            parts.push_back({{"type", "text"}, {"text", textOf(part, "text")}});
        } else if (type == "file") {
            has_files = true;
            parts.push_back(shownFile(part));
        }
    }
    return has_files ? json::value(std::move(parts)) : json::value(text);
}

std::string textsOf(const json::object& message, std::string_view type) {
    std::string text;
    for (const json::object& part : partsIn(message)) {
        if (textOf(part, "type") == type) text += textOf(part, "text");
    }
    return text;
}

json::object shownCall(std::string id, const std::string& name, std::string arguments) {
    if (arguments.empty()) arguments = "{}";
    return {{"id", std::move(id)}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
}

json::array shownCalls(const json::object& message) {
    json::array shown;
    const json::array* const own = listIn(message, "calls");
    const json::array* const calls = own != nullptr ? own : listIn(message, "tool_calls");
    for (std::size_t i = 0; calls != nullptr && i < calls->size(); ++i) {
        const json::object* const call = (*calls)[i].if_object();
        if (call == nullptr) continue;
        const json::value* const arguments = call->if_contains(own != nullptr ? "arguments" : "args");
        shown.push_back(shownCall(textOf(*call, "id"), textOf(*call, "name"),
                                  arguments != nullptr ? asText(*arguments) : std::string()));
    }
    return shown;
}

void addAnswer(const json::object& message, const std::string& id, bool reasoning, json::array& shown) {
    const std::string thoughts = textsOf(message, "reasoning");
    if (reasoning && !thoughts.empty())
        shown.push_back({{"id", reasoningId(id)}, {"role", "reasoning"}, {"content", thoughts}});
    json::object answer{{"id", id}, {"role", "assistant"}};
    const std::string text = textsOf(message, "text");
    json::array calls = shownCalls(message);
    if (!text.empty() || calls.empty()) answer["content"] = text;
    if (!calls.empty()) answer["toolCalls"] = std::move(calls);
    shown.push_back(std::move(answer));
}

json::object shownResult(const json::object& message, const std::string& id) {
    const json::value* const found = message.if_contains("result");
    if (found == nullptr || !found->is_object()) {
        return {{"id", id},
                {"role", "tool"},
                {"toolCallId", textOf(message, "tool_call_id")},
                {"content", textsOf(message, "text")}};
    }
    const ToldResult result(found->get_object());
    json::object shown{
        {"id", id}, {"role", "tool"}, {"toolCallId", result.call_id}, {"content", asText(result.output)}};
    if (result.is_error) shown["error"] = asText(result.output);
    return shown;
}

}  // namespace

std::string_view roleOf(const json::object& message) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> words{{{"user", "user"},
                                                                                         {"human", "user"},
                                                                                         {"assistant", "assistant"},
                                                                                         {"ai", "assistant"},
                                                                                         {"tool", "tool"},
                                                                                         {"system", "system"},
                                                                                         {"developer", "system"},
                                                                                         {"function", "tool"}}};
    std::string word = textOf(message, "role");
    if (word.empty()) word = textOf(message, "type");
    for (const auto& [known, role] : words) {
        if (known == word) return role;
    }
    return {};
}

std::string shownId(const json::object& message, bool renames) {
    std::string id = textOf(message, "id");
    const bool is_clients = renames && id.starts_with(renamed) && roleOf(message) == "user";
    return is_clients ? id.substr(renamed.size()) : id;
}

std::string storedId(const std::string& id, bool renames) { return renames ? std::string(renamed) + id : id; }

std::string reasoningId(const std::string& message) { return message + "-reasoning"; }

std::string asText(const json::value& value) {
    return value.is_string() ? std::string(value.get_string()) : stategraph::detail::jsonText(value);
}

json::array agUiMessages(const json::array& stored, ShownMessages options) {
    json::array shown;
    for (std::size_t i = 0; i < stored.size(); ++i) {
        const json::object* const message = stored[i].if_object();
        if (message == nullptr) continue;
        const std::string_view role = roleOf(*message);
        std::string id = shownId(*message, options.renames);
        if (id.empty()) id = "message-" + std::to_string(i);
        if (role == "assistant") {
            addAnswer(*message, id, options.reasoning, shown);
        } else if (role == "tool") {
            shown.push_back(shownResult(*message, id));
        } else if (role == "user") {
            shown.push_back({{"id", id}, {"role", role}, {"content", shownContent(*message)}});
        } else if (role == "system") {
            shown.push_back({{"id", id}, {"role", role}, {"content", textsOf(*message, "text")}});
        }
    }
    return shown;
}

json::array partsOf(const json::object& sent) {
    json::array parts;
    for (const json::object& part : partsIn(sent)) {
        if (textOf(part, "type") == "text") {
            parts.push_back({{"type", "text"}, {"text", textOf(part, "text")}});
            continue;
        }
        const json::value* const found = part.if_contains("source");
        const json::object nothing;
        const json::object& source = found != nullptr && found->is_object() ? found->get_object() : nothing;
        const std::string type = textOf(source, "type");
        const std::string media = textOf(source, "mimeType");
        if ((type != "url" && type != "data") || media.empty() || textOf(source, "value").empty()) {
            throw InvalidArgumentError("a part of the message '" + textOf(sent, "id") +
                                       "' is no text, and no file with \"source\": {\"type\": \"url\" or \"data\", "
                                       "\"value\", \"mimeType\"}");
        }
        parts.push_back(
            {{"type", "file"}, {"media_type", media}, {type == "url" ? "url" : "data", textOf(source, "value")}});
    }
    return parts;
}

std::string textOfParts(const json::array& parts) {
    std::string text;
    for (const json::value& part : parts) text += textOf(part.get_object(), "text");
    return text;
}

namespace {

json::array storedCalls(const json::object& sent) {
    json::array calls;
    const json::array* const given = listIn(sent, "toolCalls");
    for (std::size_t i = 0; given != nullptr && i < given->size(); ++i) {
        const json::object* const call = (*given)[i].if_object();
        const json::value* const found = call != nullptr ? call->if_contains("function") : nullptr;
        if (found == nullptr || !found->is_object()) continue;
        const json::object& function = found->get_object();
        calls.push_back({{"id", textOf(*call, "id")},
                         {"name", textOf(function, "name")},
                         {"arguments", textOf(function, "arguments")}});
    }
    return calls;
}

}  // namespace

json::value storedMessage(const json::object& sent, StoredForm form) {
    const std::string_view role = roleOf(sent);
    if (role.empty()) return nullptr;
    json::array parts = partsOf(sent);
    json::object message{{"role", role}};
    if (const std::string id = textOf(sent, "id"); !id.empty()) message["id"] = id;
    if (form != StoredForm::typed) {
        message["content"] = textOfParts(parts);
        if (role == "tool" && form == StoredForm::json) message["tool_call_id"] = textOf(sent, "toolCallId");
        return message;
    }
    if (role == "tool") {
        message["result"] = {{"call_id", textOf(sent, "toolCallId")},
                             {"name", textOf(sent, "name")},
                             {"output", textOfParts(parts)},
                             {"is_error", !textOf(sent, "error").empty()}};
        return message;
    }
    message["content"] = std::move(parts);
    if (json::array calls = storedCalls(sent); !calls.empty()) message["calls"] = std::move(calls);
    return message;
}

}  // namespace stategraph::serve
