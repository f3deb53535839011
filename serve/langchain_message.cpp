#include "serve/langchain_message.hpp"

#include <array>
#include <string>
#include <utility>

#include <stategraph/detail/json_reading.hpp>
#include <stategraph/detail/json_text.hpp>

namespace stategraph::serve {

namespace json = boost::json;

namespace {

using Kind = LangChainKind;

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

std::string_view viewOf(const json::object& object, std::string_view name) noexcept {
    const json::value* const found = object.if_contains(name);
    return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
}

void addIfMissing(json::object& message, std::string_view name, json::value value) {
    if (!message.contains(name)) message[name] = std::move(value);
}

json::object argumentsOf(std::string_view text, json::array& invalid, const json::object& call) {
    if (text.empty()) return {};
    stategraph::detail::JsonRead read = stategraph::detail::readJson(text, 64);
    if (!read.error && read.value.is_object()) return std::move(read.value.get_object());
    invalid.push_back({{"id", viewOf(call, "id")},
                       {"name", viewOf(call, "name")},
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
        const std::string_view type = viewOf(*part, "type");
        if (type == "text" && parts.size() == 1) return json::value(viewOf(*part, "text"));
        if (type == "reasoning") {
            blocks.push_back({{"type", "reasoning"}, {"reasoning", viewOf(*part, "text")}});
        } else if (type == "file") {
            const std::string_view media = viewOf(*part, "media_type");
            json::object block{{"type", media.starts_with("image/") ? "image" : "file"}, {"mime_type", media}};
            const bool is_inside = viewOf(*part, "url").empty();
            block[is_inside ? "base64" : "url"] = viewOf(*part, is_inside ? "data" : "url");
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
        json::object arguments = argumentsOf(viewOf(*call, "arguments"), invalid, *call);
        if (invalid.size() > before) continue;
        valid.push_back({{"id", viewOf(*call, "id")},
                         {"name", viewOf(*call, "name")},
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
    message["tool_call_id"] = viewOf(result, "call_id");
    message["name"] = viewOf(result, "name");
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
    const bool is_typed = viewOf(message, "type").empty();
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

const Kind* langChainKindOf(const json::object& message) noexcept {
    const std::string_view type = viewOf(message, "type");
    return kindOf(type.empty() ? viewOf(message, "role") : type);
}

json::value langChainMessage(const json::value& stored) {
    const json::object* const object = stored.if_object();
    const Kind* const kind = object != nullptr ? langChainKindOf(*object) : nullptr;
    if (kind == nullptr) return stored;
    json::object message = *object;
    complete(message, *kind);
    return message;
}

json::value langChainPiece(const json::value& piece) {
    const json::object* const object = piece.if_object();
    if (object == nullptr) return piece;
    json::object message = *object;
    const Kind* const kind = langChainKindOf(message);
    json::array chunks;
    if (const json::value* const calls = message.if_contains("calls"); calls != nullptr && calls->is_array()) {
        std::int64_t index = 0;
        for (const json::value& each : calls->get_array()) {
            if (const json::object* const call = each.if_object()) {
                chunks.push_back({{"id", viewOf(*call, "id")},
                                  {"name", viewOf(*call, "name")},
                                  {"args", viewOf(*call, "arguments")},
                                  {"index", index++},
                                  {"type", "tool_call_chunk"}});
            }
        }
    }
    message.erase("calls");
    message.erase("provider");
    if (const std::string reasoning(viewOf(message, "reasoning")); !reasoning.empty())
        message["content"] = json::array{{{"type", "reasoning"}, {"reasoning", reasoning}}};
    message.erase("reasoning");
    if (const json::value* const content = message.if_contains("content"); content == nullptr || content->is_null())
        message["content"] = json::string();
    complete(message, kind != nullptr ? *kind : *kindOf("ai"));
    addIfMissing(message, "tool_call_chunks", std::move(chunks));
    return message;
}

}  // namespace stategraph::serve
