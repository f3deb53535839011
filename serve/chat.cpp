#include "serve/chat.hpp"

#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>

#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "serve/shown_message.hpp"
#include "serve/told.hpp"

namespace stategraph::serve {

namespace json = boost::json;

namespace {

/// Reads a part {"type": "tool-NAME" or "dynamic-tool", "toolCallId", "state", "approval": {"id", "approved",
/// "reason"}}, or one with "output" of a client's tool.
void readToolPart(const json::object& part, json::array& decisions) {
    const std::string state = textOf(part, "state");
    json::object decision{{"call_id", textOf(part, "toolCallId")}};
    if (state == "approval-responded") {
        const json::value* const found = part.if_contains("approval");
        const json::object* const approval = found != nullptr ? found->if_object() : nullptr;
        const json::value* const approved = approval != nullptr ? approval->if_contains("approved") : nullptr;
        if (approved == nullptr || !approved->is_bool()) return;
        decision["approved"] = approved->get_bool();
        const std::string reason = textOf(*approval, "reason");
        if (!reason.empty()) decision["reason"] = reason;
        decisions.emplace_back(std::move(decision));
    } else if (state == "output-available") {
        // A page that has nothing to give writes no output.
        const json::value* const output = part.if_contains("output");
        decision["output"] = output != nullptr ? *output : json::value();
        decisions.emplace_back(std::move(decision));
    } else if (state == "output-error") {
        decision["output"] = textOf(part, "errorText");
        decision["is_error"] = true;
        decisions.emplace_back(std::move(decision));
    }
}

/// Returns the message that is new in a request: the last one, or the answer about whose calls the page has decided.
const json::object* newMessage(const json::object& chat, const json::array& messages) {
    const std::string id = textOf(chat, "messageId");
    if (!id.empty() && textOf(chat, "trigger") == "submit-message") {
        for (const json::value& each : messages) {
            const json::object* const message = each.if_object();
            const bool is_meant = message != nullptr && textOf(*message, "id") == id;
            if (is_meant && textOf(*message, "role") == "assistant") return message;
        }
    }
    return messages.back().if_object();
}

/// Reads a part {"type": "file", "mediaType", "url"}, whose address may contain the data.
json::object fileOf(const json::object& part) {
    json::object file{{"media_type", textOf(part, "mediaType")}};
    const std::string url = textOf(part, "url");
    if (textOf(part, "mediaType").empty() || url.empty())
        throw InvalidArgumentError("a file of the last message has no \"mediaType\", or no \"url\"");
    if (!url.starts_with("data:")) {
        if (!url.starts_with("https://") && !url.starts_with("http://"))
            throw InvalidArgumentError("a file of the last message is at an address that is neither http nor data");
        file["url"] = url;
        return file;
    }
    constexpr std::string_view mark = ";base64,";
    const std::size_t comma = url.find(',');
    if (comma == std::string::npos || comma + 1 < mark.size() ||
        url.compare(comma + 1 - mark.size(), mark.size(), mark) != 0) {
        throw InvalidArgumentError("the data of a file of the last message are not base64");
    }
    file["data"] = url.substr(comma + 1);
    return file;
}

/// Reads the user's last message.
json::object startOf(const json::object& chat, const json::object& message, const json::array& parts) {
    std::string text;
    json::array files;
    for (const json::value& each : parts) {
        const json::object* const part = each.if_object();
        if (part == nullptr) continue;
        if (textOf(*part, "type") == "text") text += textOf(*part, "text");
        if (textOf(*part, "type") == "file") files.emplace_back(fileOf(*part));
    }
    if (text.empty() && files.empty()) throw InvalidArgumentError("the last message has no text and no file");
    json::object start{{"text", std::move(text)}};
    if (!files.empty()) start["files"] = std::move(files);
    const std::string id = textOf(message, "id");
    if (!id.empty()) start["message_id"] = id;
    const bool is_edited = !id.empty() && textOf(chat, "messageId") == id;
    if (is_edited || textOf(chat, "trigger") == "regenerate-message") start["anew"] = true;
    return start;
}

}  // namespace

std::string strategyOf(std::string_view word) {
    for (const char* const each : {"reject", "enqueue", "steer", "interrupt"}) {
        if (word == each) return each;
    }
    throw InvalidArgumentError("multitask_strategy is one of reject, enqueue, steer and interrupt, not '" +
                               std::string(word) + "'");
}

ChatRequest readChat(const Value& body) {
    const json::value all = toJsonValue(body);
    const json::object* const chat = all.if_object();
    const json::value* const found = chat != nullptr ? chat->if_contains("messages") : nullptr;
    const json::array* const messages = found != nullptr ? found->if_array() : nullptr;
    if (messages == nullptr || messages->empty())
        throw InvalidArgumentError("the body has no list \"messages\" with a message in it");
    ChatRequest request;
    request.thread = textOf(*chat, "id");
    if (request.thread.empty()) throw InvalidArgumentError("the body has no \"id\", which names the conversation");
    const json::object* const last = newMessage(*chat, *messages);
    const json::value* const list = last != nullptr ? last->if_contains("parts") : nullptr;
    if (list == nullptr || !list->is_array()) throw InvalidArgumentError("the last message has no list \"parts\"");
    if (const std::string strategy = textOf(*chat, "multitask_strategy"); !strategy.empty())
        request.strategy = strategyOf(strategy);
    if (textOf(*last, "role") == "user") {
        request.start = Value(json::value(startOf(*chat, *last, list->get_array())));
        return request;
    }
    json::array decisions;
    for (const json::value& each : list->get_array()) {
        const json::object* const part = each.if_object();
        if (part == nullptr) continue;
        readToolPart(*part, decisions);
    }
    if (decisions.empty()) throw InvalidArgumentError("the last message is the assistant's, and decides nothing");
    request.shown = callsIn(*last);
    request.message = linesOf(*last);
    request.decisions = Value(json::value{{"decisions", std::move(decisions)}});
    return request;
}

}  // namespace stategraph::serve
