#include "langgraph/message_blocks.hpp"

#include <utility>

#include <stategraph/detail/json_reading.hpp>

#include "langgraph/event_json.hpp"
#include "langgraph/identifiers.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

/// The member that grows of a block.
const char* textMemberOf(std::string_view type) noexcept {
    if (type == "reasoning") return "reasoning";
    return type == "tool_call_chunk" ? "args" : "text";
}

/// A call whose arguments have come whole: "tool_call", or "invalid_tool_call" if they are no JSON object.
json::object finishedCall(const json::value& chunk) {
    json::object call{{"type", "tool_call"}, {"id", memberIn(chunk, "id")}, {"name", memberIn(chunk, "name")}};
    const std::string_view arguments = textIn(chunk, "args");
    stategraph::detail::JsonRead read = stategraph::detail::readJson(arguments.empty() ? "{}" : arguments, 64);
    if (!read.error && read.value.is_object()) {
        call["args"] = std::move(read.value);
    } else {
        call["type"] = "invalid_tool_call";
        call["args"] = arguments;
        call["error"] = "the arguments are no JSON object";
    }
    return call;
}

}  // namespace

void MessageBlocks::say(const Open& open, json::object data, const Tell& tell) {
    data["run_id"] = open.run_id;
    tell(std::move(data));
}

void MessageBlocks::start(Open& open, std::string_view role, const Tell& tell) {
    say(open, {{"event", "message-start"}, {"id", open.id}, {"role", role}}, tell);
}

void MessageBlocks::startBlock(Open& open, json::object block, const Tell& tell) {
    finishBlock(open, tell);
    open.block = std::move(block);
    say(open, {{"event", "content-block-start"}, {"index", ++open.index}, {"content", open.block}}, tell);
}

void MessageBlocks::grow(Open& open, const char* member, std::string_view text, const Tell& tell) {
    if (text.empty()) return;
    open.block[member].get_string().append(text);
    json::object delta;
    if (member == std::string_view("args")) {
        delta = {{"type", "tool-call-delta"}, {"args", text}};
    } else {
        delta = {{"type", std::string(member) + "-delta"}, {member, text}};
    }
    say(open, {{"event", "content-block-delta"}, {"index", open.index}, {"delta", std::move(delta)}}, tell);
}

void MessageBlocks::finishBlock(Open& open, const Tell& tell) {
    if (open.block.empty()) return;
    json::value block(std::exchange(open.block, {}));
    if (textIn(block, "type") == "tool_call_chunk") block = finishedCall(block);
    say(open, {{"event", "content-block-finish"}, {"index", open.index}, {"content", std::move(block)}}, tell);
}

void MessageBlocks::takeContent(Open& open, const json::value& content, const Tell& tell) {
    if (content.is_string()) {
        if (content.get_string().empty()) return;
        takeContent(open, json::array{{{"type", "text"}, {"text", content}}}, tell);
        return;
    }
    const json::array* const blocks = content.if_array();
    if (blocks == nullptr) return;
    for (const json::value& each : *blocks) {
        const std::string type(textIn(each, "type"));
        if (type != "text" && type != "reasoning") {  // it has no pieces
            if (each.is_object()) startBlock(open, each.get_object(), tell);
            finishBlock(open, tell);
            continue;
        }
        const char* const member = textMemberOf(type);
        const json::value* const current = open.block.if_contains("type");
        if (current == nullptr || *current != json::value(type))
            startBlock(open, {{"type", type}, {member, json::string()}}, tell);
        grow(open, member, textIn(each, member), tell);
    }
}

void MessageBlocks::takeCalls(Open& open, const json::value& chunks, const Tell& tell) {
    const json::array* const calls = chunks.if_array();
    if (calls == nullptr) return;
    for (const json::value& each : *calls) {
        const json::value* const type = open.block.if_contains("type");
        const std::string_view id = textIn(each, "id");
        const bool goes_on = type != nullptr && *type == json::value("tool_call_chunk") &&
                             textIn(each, "name").empty() && (id.empty() || open.block["id"] == json::value(id));
        if (!goes_on) {
            startBlock(open,
                       {{"type", "tool_call_chunk"},
                        {"id", memberIn(each, "id")},
                        {"name", memberIn(each, "name")},
                        {"args", json::string()}},
                       tell);
        }
        grow(open, "args", textIn(each, "args"), tell);
    }
}

void MessageBlocks::piece(const std::string& task, const json::value& piece, const Tell& tell) {
    const std::string_view id = textIn(piece, "id");
    if (const auto known = open_.find(task); known != open_.end() && known->second.id != id) finish(task, tell);
    const auto [place, is_new] = open_.try_emplace(task);
    Open& open = place->second;
    if (is_new) {
        open.id = id;
        open.run_id = newId();
        start(open, "ai", tell);
    }
    takeContent(open, memberIn(piece, "content"), tell);
    takeCalls(open, memberIn(piece, "tool_call_chunks"), tell);
}

void MessageBlocks::whole(const std::string& task, const json::value& message, const Tell& tell) {
    finish(task, tell);
    Open open{.id = std::string(textIn(message, "id")), .run_id = newId()};
    start(open, textIn(message, "type"), tell);
    takeContent(open, memberIn(message, "content"), tell);
    finishBlock(open, tell);
    if (const json::array* const calls = memberIn(message, "tool_calls").if_array()) {
        for (const json::value& each : *calls) {
            if (each.is_object()) startBlock(open, each.get_object(), tell);
        }
        finishBlock(open, tell);
    }
    json::object end{{"event", "message-finish"}, {"responseMetadata", memberIn(message, "response_metadata")}};
    if (const json::value& usage = memberIn(message, "usage_metadata"); usage.is_object()) end["usage"] = usage;
    say(open, std::move(end), tell);
}

void MessageBlocks::finish(const std::string& task, const Tell& tell) {
    const auto found = open_.find(task);
    if (found == open_.end()) return;
    finishBlock(found->second, tell);
    say(found->second, {{"event", "message-finish"}, {"reason", "stop"}}, tell);
    open_.erase(found);
}

}  // namespace stategraph::langgraph
