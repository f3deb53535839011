#include "langgraph/tool_events.hpp"

#include <utility>

#include <stategraph/detail/json_reading.hpp>

#include "langgraph/event_json.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

/// Arguments are stored as text.
json::value argumentsOf(const json::value& input) {
    const json::value& arguments = memberIn(input, "arguments");
    if (!arguments.is_string()) return arguments;
    stategraph::detail::JsonRead read = stategraph::detail::readJson(arguments.get_string(), 64);
    return read.error ? arguments : std::move(read.value);
}

/// The message with the result of a call among what a task wrote; null: there is none.
const json::value* resultIn(const json::value& written, std::string_view call_id) {
    const json::object* const channels = written.if_object();
    if (channels == nullptr) return nullptr;
    for (const auto& [name, value] : *channels) {
        const json::array* const messages = value.if_array();
        if (messages == nullptr) continue;
        for (const json::value& each : *messages) {
            if (textIn(each, "tool_call_id") == call_id) return &each;
        }
    }
    return nullptr;
}

}  // namespace

std::optional<ToolEvent> ToolEvents::take(const StreamEvent& event, const json::object& task) {
    const json::value shown(task);
    const std::string id(textIn(shown, "id"));
    const json::value& input = memberIn(shown, "input");
    if (!task.contains("error")) {
        const bool is_call = event.send && !textIn(input, "id").empty() && !textIn(input, "name").empty() &&
                             !memberIn(input, "arguments").is_null();
        if (!is_call) return {};
        Call call{.id = std::string(textIn(input, "id")),
                  .name = std::string(textIn(input, "name")),
                  .place = taskKey(event)};
        ToolEvent started{.call_id = call.id, .name = call.name, .data = argumentsOf(input)};
        calls_.insert_or_assign(id, std::move(call));
        return started;
    }
    const auto found = calls_.find(id);
    if (found == calls_.end()) return {};
    const Call call = std::move(found->second);
    calls_.erase(found);
    if (!event.interrupts.empty()) return {};
    ToolEvent ended{.kind = ToolEvent::Kind::failed, .call_id = call.id, .name = call.name};
    if (const json::value& error = task.at("error"); !error.is_null()) {
        ended.data = error;
        return ended;
    }
    const json::value& written = memberIn(shown, "result");
    const json::value* const result = resultIn(written, call.id);
    if (result != nullptr && textIn(*result, "status") == "error") {
        ended.data = memberIn(*result, "content");
        return ended;
    }
    ended.kind = ToolEvent::Kind::finished;
    ended.data = result != nullptr ? *result : written;
    return ended;
}

std::optional<ToolEvent> ToolEvents::progress(const StreamEvent& event, const json::value& data) const {
    if (calls_.empty() || !event.send) return {};
    const std::string place = taskKey(event);
    for (const auto& [task, call] : calls_) {
        if (call.place == place)
            return ToolEvent{.kind = ToolEvent::Kind::progress, .call_id = call.id, .name = call.name, .data = data};
    }
    return {};
}

json::object toolJson(const ToolEvent& event) {
    json::object shown{{"toolCallId", event.call_id}, {"name", event.name}};
    switch (event.kind) {
        case ToolEvent::Kind::started:
            shown["event"] = "on_tool_start";
            shown["input"] = event.data;
            break;
        case ToolEvent::Kind::progress:
            shown["event"] = "on_tool_event";
            shown["data"] = event.data;
            break;
        case ToolEvent::Kind::finished:
            shown["event"] = "on_tool_end";
            shown["output"] = event.data;
            break;
        case ToolEvent::Kind::failed:
            shown["event"] = "on_tool_error";
            shown["error"] = event.data;
            break;
    }
    return shown;
}

}  // namespace stategraph::langgraph
