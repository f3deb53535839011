#include "langgraph/wire_message.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <stategraph/detail/json_reading.hpp>
#include <stategraph/detail/json_text.hpp>

#include "langgraph/api_error.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

struct Kind {
    std::string_view word;  // a type or a role
    std::string_view type;
    std::string_view role;  // as the library's messages have it
};
constexpr std::array kinds{Kind{"human", "human", "user"},
                           Kind{"user", "human", "user"},
                           Kind{"ai", "ai", "assistant"},
                           Kind{"assistant", "ai", "assistant"},
                           Kind{"system", "system", "system"},
                           Kind{"developer", "system", "system"},
                           Kind{"tool", "tool", "tool"},
                           Kind{"function", "tool", "tool"},
                           Kind{"remove", "remove", "remove"},
                           Kind{"AIMessageChunk", "ai", "assistant"},
                           Kind{"HumanMessageChunk", "human", "user"}};

const Kind* kindOf(std::string_view word) noexcept {
    for (const Kind& each : kinds) {
        if (each.word == word) return &each;
    }
    return nullptr;
}

std::string_view textOf(const json::object& object, std::string_view name) noexcept {
    const json::value* const found = object.if_contains(name);
    return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
}

/// What a message is by its type, or by its role.
const Kind* kindIn(const json::object& message) noexcept {
    const std::string_view type = textOf(message, "type");
    return kindOf(type.empty() ? textOf(message, "role") : type);
}

void addIfMissing(json::object& message, std::string_view name, json::value value) {
    if (!message.contains(name)) message[name] = std::move(value);
}

json::object argumentsOf(std::string_view text, json::array& invalid, const json::object& call) {
    if (text.empty()) return {};
    stategraph::detail::JsonRead read = stategraph::detail::readJson(text, 64);
    if (!read.error && read.value.is_object()) return std::move(read.value.get_object());
    invalid.push_back({{"id", textOf(call, "id")},
                       {"name", textOf(call, "name")},
                       {"args", text},
                       {"error", "the arguments are no JSON object"},
                       {"type", "invalid_tool_call"}});
    return {};
}

/// One text part alone is a text; others are blocks.
json::value contentOf(const json::array& parts) {
    if (parts.empty()) return json::string();
    json::array blocks;
    for (const json::value& each : parts) {
        const json::object* const part = each.if_object();
        if (part == nullptr) continue;
        const std::string_view type = textOf(*part, "type");
        if (type == "text" && parts.size() == 1) return json::value(textOf(*part, "text"));
        if (type == "reasoning") {
            blocks.push_back({{"type", "reasoning"}, {"reasoning", textOf(*part, "text")}});
        } else if (type == "file") {
            const std::string_view media = textOf(*part, "media_type");
            json::object block{{"type", media.starts_with("image/") ? "image" : "file"}, {"mime_type", media}};
            const bool is_inside = textOf(*part, "url").empty();
            block[is_inside ? "base64" : "url"] = textOf(*part, is_inside ? "data" : "url");
            blocks.push_back(std::move(block));
        } else if (type == "text") {
            blocks.push_back(*part);
        }  // what only a provider or a reader of the log understands
    }
    return blocks;
}

void addCalls(const json::value& calls, json::object& message) {
    json::array valid;
    json::array invalid;
    for (const json::value& each : calls.get_array()) {
        const json::object* const call = each.if_object();
        if (call == nullptr) continue;
        const std::size_t before = invalid.size();
        json::object arguments = argumentsOf(textOf(*call, "arguments"), invalid, *call);
        if (invalid.size() > before) continue;
        valid.push_back({{"id", textOf(*call, "id")},
                         {"name", textOf(*call, "name")},
                         {"args", std::move(arguments)},
                         {"type", "tool_call"}});
    }
    message["tool_calls"] = std::move(valid);
    message["invalid_tool_calls"] = std::move(invalid);
}

/// A result whose message has content for the model has its output, which the model does not receive, as the artifact.
void addResult(const json::object& result, json::object& message) {
    const json::value* const output = result.if_contains("output");
    const json::value* const content = message.if_contains("content");
    const bool has_content = content != nullptr && (content->is_array() ? !content->get_array().empty()
                                                                        : *content != json::value(json::string()));
    json::value text = json::string();
    if (has_content) {
        text = *content;
        message["artifact"] = output != nullptr ? *output : json::value();
    } else if (output != nullptr) {
        text = output->is_string() ? *output : json::value(stategraph::detail::jsonText(*output));
    }
    message["content"] = std::move(text);
    message["tool_call_id"] = textOf(result, "call_id");
    message["name"] = textOf(result, "name");
    const json::value* const is_error = result.if_contains("is_error");
    message["status"] = is_error != nullptr && *is_error == json::value(true) ? "error" : "success";
}

/// A model::Message, whose members clients know under other names.
void renameTyped(json::object& message) {
    if (const json::value* const parts = message.if_contains("content"); parts != nullptr && parts->is_array()) {
        json::value content = contentOf(parts->get_array());
        message["content"] = std::move(content);
    }
    if (const json::value* const calls = message.if_contains("calls"); calls != nullptr && calls->is_array()) {
        addCalls(json::value(*calls), message);
        message.erase("calls");
    }
    if (const json::value* const result = message.if_contains("result"); result != nullptr) {
        if (result->is_object()) addResult(json::object(result->get_object()), message);
        message.erase("result");
    }
    if (const json::value* const reason = message.if_contains("finish_reason"); reason != nullptr) {
        if (reason->is_string()) message["response_metadata"] = json::object{{"finish_reason", *reason}};
        message.erase("finish_reason");
    }
    if (json::value* const usage = message.if_contains("usage"); usage != nullptr) {
        if (json::object* const counts = usage->if_object()) {
            const auto count = [&](const char* name) {
                const json::value* const found = counts->if_contains(name);
                return found != nullptr && found->is_int64() ? found->get_int64() : 0;
            };
            message["usage_metadata"] = json::object{
                {"input_tokens", count("input_tokens")},
                {"output_tokens", count("output_tokens")},
                {"total_tokens", count("input_tokens") + count("output_tokens")},
                {"input_token_details",
                 {{"cache_read", count("cached_tokens")}, {"cache_creation", count("cache_write_tokens")}}},
                {"output_token_details", {{"reasoning", count("reasoning_tokens")}}}};
        }
        message.erase("usage");
    }
}

void complete(json::object& message, const Kind& kind) {
    const bool is_typed = textOf(message, "type").empty();
    message["type"] = kind.type;
    message.erase("role");
    if (is_typed) renameTyped(message);
    addIfMissing(message, "content", json::string());
    addIfMissing(message, "additional_kwargs", json::object());
    addIfMissing(message, "response_metadata", json::object());
    if (kind.type != "ai") return;
    addIfMissing(message, "tool_calls", json::array());
    addIfMissing(message, "invalid_tool_calls", json::array());
}

}  // namespace

json::value toWire(const json::value& stored) {
    const json::object* const object = stored.if_object();
    const Kind* const kind = object != nullptr ? kindIn(*object) : nullptr;
    if (kind == nullptr) return stored;
    json::object message = *object;
    complete(message, *kind);
    return message;
}

json::value pieceToWire(const json::value& piece) {
    const json::object* const object = piece.if_object();
    if (object == nullptr) return piece;
    json::object message = *object;
    const Kind* const kind = kindIn(message);
    json::array chunks;
    if (const json::value* const calls = message.if_contains("calls"); calls != nullptr && calls->is_array()) {
        std::int64_t index = 0;
        for (const json::value& each : calls->get_array()) {
            if (const json::object* const call = each.if_object()) {
                chunks.push_back({{"id", textOf(*call, "id")},
                                  {"name", textOf(*call, "name")},
                                  {"args", textOf(*call, "arguments")},
                                  {"index", index++},
                                  {"type", "tool_call_chunk"}});
            }
        }
    }
    message.erase("calls");
    message.erase("provider");
    if (const std::string reasoning(textOf(message, "reasoning")); !reasoning.empty())
        message["content"] = json::array{{{"type", "reasoning"}, {"reasoning", reasoning}}};
    message.erase("reasoning");
    if (const json::value* const content = message.if_contains("content"); content == nullptr || content->is_null())
        message["content"] = json::string();
    complete(message, kind != nullptr ? *kind : *kindOf("ai"));
    addIfMissing(message, "tool_call_chunks", std::move(chunks));
    return message;
}

namespace {

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
    const Kind* const kind = kindIn(message);
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
