#include "serve/chat.hpp"

#include <boost/json.hpp>

#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

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
    } else if (state == "output-available" && part.contains("output")) {
        decision["output"] = part.at("output");
        decisions.emplace_back(std::move(decision));
    }
}

}  // namespace

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
    const json::object* const last = messages->back().if_object();
    const json::value* const list = last != nullptr ? last->if_contains("parts") : nullptr;
    if (list == nullptr || !list->is_array()) throw InvalidArgumentError("the last message has no list \"parts\"");
    const bool is_users = textOf(*last, "role") == "user";
    json::array decisions;
    for (const json::value& each : list->get_array()) {
        const json::object* const part = each.if_object();
        if (part == nullptr) continue;
        if (is_users && textOf(*part, "type") == "text") request.text += textOf(*part, "text");
        if (!is_users) readToolPart(*part, decisions);
    }
    if (is_users && request.text.empty()) throw InvalidArgumentError("the last message has no text");
    if (!is_users && decisions.empty())
        throw InvalidArgumentError("the last message is the assistant's, and decides nothing");
    if (!decisions.empty()) request.decisions = Value(json::value{{"decisions", std::move(decisions)}});
    return request;
}

}  // namespace stategraph::serve
