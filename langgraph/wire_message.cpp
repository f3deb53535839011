#include "langgraph/wire_message.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <stategraph/detail/json_text.hpp>

#include "langgraph/api_error.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

json::value toWire(const json::value& stored) { return serve::langChainMessage(stored); }
json::value pieceToWire(const json::value& piece) { return serve::langChainPiece(piece); }

namespace {

using Kind = serve::LangChainKind;

std::string_view textOf(const json::object& object, std::string_view name) noexcept {
    const json::value* const found = object.if_contains(name);
    return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
}

void addIfMissing(json::object& message, std::string_view name, json::value value) {
    if (!message.contains(name)) message[name] = std::move(value);
}

/// Those that a model::Message can have.
constexpr std::array<std::string_view, 7> finish_reasons{"stop",  "tool-calls", "length", "content-filter",
                                                         "other", "aborted",    "paused"};

/// What a client sent as an object with a type or a role.
json::object objectOf(const json::value& sent, std::string_view where) {
    if (sent.is_string()) return {{"type", "human"}, {"content", sent}};
    if (const json::array* const pair = sent.if_array();
        pair != nullptr && pair->size() == 2 && (*pair)[0].is_string()) {
        return {{"role", (*pair)[0]}, {"content", (*pair)[1]}};
    }
    const json::object* const object = sent.if_object();
    if (object == nullptr)
        throw InvalidRequest(std::string(where) + ": a message is an object, a text, or a pair of a role and a text");
    return *object;
}

/// The text of a content that is a text, or blocks of text.
std::string plainText(const json::value* content, std::string_view where) {
    if (content == nullptr || content->is_null()) return {};
    if (content->is_string()) return std::string(content->get_string());
    std::string text;
    if (!content->is_array()) throw InvalidRequest(std::string(where) + ".content: must be a text or a list of blocks");
    for (const json::value& each : content->get_array()) {
        const json::object* const block = each.if_object();
        if (each.is_string()) {
            text += each.get_string();
        } else if (block != nullptr && textOf(*block, "type") == "text") {
            text += textOf(*block, "text");
        } else {
            throw InvalidRequest(std::string(where) + ".content: this graph takes blocks of text alone");
        }
    }
    return text;
}

/// A block as a part of a model::Message.
json::object partOf(const json::object& block, std::string_view where) {
    const std::string_view type = textOf(block, "type");
    if (type == "text") return {{"type", "text"}, {"text", textOf(block, "text")}};
    if (type == "reasoning") return {{"type", "reasoning"}, {"text", textOf(block, "reasoning")}};
    if (type == "image" || type == "file" || type == "audio" || type == "video") {
        std::string_view data = textOf(block, "base64");
        if (data.empty()) data = textOf(block, "data");
        json::object part{{"type", "file"}, {"media_type", textOf(block, "mime_type")}};
        part[data.empty() ? "url" : "data"] = data.empty() ? textOf(block, "url") : data;
        return part;
    }
    if (type == "image_url") {
        const json::value* const address = block.if_contains("image_url");
        if (address == nullptr)
            throw InvalidRequest(std::string(where) + ".content: a block of the type 'image_url' has no \"image_url\"");
        const json::object* const inner = address->if_object();
        return {{"type", "file"},
                {"media_type", "image/*"},
                {"url", inner != nullptr ? textOf(*inner, "url") : textOf(block, "image_url")}};
    }
    throw InvalidRequest(std::string(where) + ".content: a block of the type '" + std::string(type) +
                         "' cannot be read");
}

json::array partsOf(const json::value* content, std::string_view where) {
    json::array parts;
    if (content == nullptr || content->is_null()) return parts;
    if (content->is_string()) {
        if (!content->get_string().empty()) parts.push_back({{"type", "text"}, {"text", *content}});
        return parts;
    }
    if (!content->is_array()) throw InvalidRequest(std::string(where) + ".content: must be a text or a list of blocks");
    for (const json::value& each : content->get_array()) {
        if (each.is_string()) {
            parts.push_back({{"type", "text"}, {"text", each}});
        } else if (const json::object* const block = each.if_object()) {
            parts.push_back(partOf(*block, where));
        } else {
            throw InvalidRequest(std::string(where) + ".content: a block is an object");
        }
    }
    return parts;
}

/// Reads a result. With an artifact, or with files, the content is what the model receives.
json::object resultOf(const json::object& sent, json::object& message, std::string_view where) {
    json::array parts = partsOf(sent.if_contains("content"), where);
    const auto isText = [](const json::value& part) { return textOf(part.get_object(), "type") == "text"; };
    const json::value* const artifact = sent.if_contains("artifact");
    const bool has_artifact = artifact != nullptr && !artifact->is_null();
    const bool has_files = !std::ranges::all_of(parts, isText);
    json::value output = has_artifact ? *artifact : json::value(json::string());
    for (const json::value& part : parts) {
        if (!has_artifact && isText(part)) output.get_string() += textOf(part.get_object(), "text");
    }
    if (has_artifact || has_files) message["content"] = std::move(parts);
    return {{"call_id", textOf(sent, "tool_call_id")},
            {"name", textOf(sent, "name")},
            {"output", std::move(output)},
            {"is_error", textOf(sent, "status") == "error"}};
}

json::object typedOf(const json::object& sent, const Kind& kind, std::string_view where) {
    json::object message{{"role", kind.role}};
    if (const std::string_view id = textOf(sent, "id"); !id.empty()) message["id"] = id;
    if (kind.type == "tool") {
        message["result"] = resultOf(sent, message, where);
        return message;
    }
    message["content"] = partsOf(sent.if_contains("content"), where);
    const json::value* const about = sent.if_contains("response_metadata");
    if (about != nullptr && about->is_object()) {
        const std::string_view reason = textOf(about->get_object(), "finish_reason");
        if (std::ranges::find(finish_reasons, reason) != finish_reasons.end()) message["finish_reason"] = reason;
    }
    const json::value* const calls = sent.if_contains("tool_calls");
    if (calls == nullptr || !calls->is_array() || calls->get_array().empty()) return message;
    json::array read;
    for (const json::value& each : calls->get_array()) {
        const json::object* const call = each.if_object();
        if (call == nullptr) throw InvalidRequest(std::string(where) + ".tool_calls: a call is an object");
        const json::value* const arguments = call->if_contains("args");
        read.push_back({{"id", textOf(*call, "id")},
                        {"name", textOf(*call, "name")},
                        {"arguments", arguments != nullptr ? stategraph::detail::jsonText(*arguments) : "{}"}});
    }
    message["calls"] = std::move(read);
    return message;
}

}  // namespace

json::value fromWire(const json::value& sent, MessageForm form, std::string_view where) {
    json::object message = objectOf(sent, where);
    const Kind* const kind = serve::langChainKindOf(message);
    if (kind == nullptr)
        throw InvalidRequest(std::string(where) + ": the message has neither a known type nor a known role");
    switch (form) {
        case MessageForm::plain: {
            json::object plain{{"role", kind->role}, {"content", plainText(message.if_contains("content"), where)}};
            if (const std::string_view id = textOf(message, "id"); !id.empty()) plain["id"] = id;
            return plain;
        }
        case MessageForm::typed:
            return typedOf(message, *kind, where);
        case MessageForm::langchain:
            break;
    }
    // The role stays, because it is what the client sent; readers get messages without it.
    message["type"] = kind->type;
    addIfMissing(message, "content", json::string());
    addIfMissing(message, "additional_kwargs", json::object());
    addIfMissing(message, "response_metadata", json::object());
    if (kind->type == "ai") addIfMissing(message, "tool_calls", json::array());
    return message;
}

}  // namespace stategraph::langgraph
