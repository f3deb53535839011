#include "langgraph/run_events.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include <stategraph/command.hpp>
#include <stategraph/detail/json_text.hpp>
#include <stategraph/json.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/identifiers.hpp"
#include "langgraph/state_json.hpp"
#include "serve/error_texts.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

/// Joins a piece of a message to what has come of it.
void join(json::object& whole, const json::object& piece) {
    const json::value* const content = piece.if_contains("content");
    json::value& known = whole["content"];
    if (content != nullptr && content->is_string() && known.is_string()) {
        known.get_string().append(content->get_string());
    } else if (content != nullptr && content->is_array()) {
        if (!known.is_array()) known = json::array();
        for (const json::value& each : content->get_array()) known.get_array().push_back(each);
    }
    const json::value* const chunks = piece.if_contains("tool_call_chunks");
    if (chunks == nullptr || !chunks->is_array()) return;
    json::value& all = whole["tool_call_chunks"];
    if (!all.is_array()) all = json::array();
    for (const json::value& each : chunks->get_array()) {
        const bool is_new = all.get_array().empty() || !textIn(each, "name").empty();
        if (is_new) {
            all.get_array().push_back(each);
        } else {
            json::value& arguments = all.get_array().back().get_object()["args"];
            arguments =
                json::value(std::string(textIn(all.get_array().back(), "args")) + std::string(textIn(each, "args")));
        }
    }
}

}  // namespace

WantedModes::WantedModes(const std::vector<std::string>& given) : names(given.begin(), given.end()) {
    static constexpr std::array known{"values", "messages",    "messages-tuple", "updates", "tasks",
                                      "custom", "checkpoints", "debug",          "events",  "tools"};
    for (const std::string& each : names) {
        if (std::ranges::find(known, each) == known.end())
            throw InvalidRequest("stream_mode: there is no mode '" + each + "'");
    }
    if (names.empty()) names.insert("values");
}

StreamModes WantedModes::reported() const {
    StreamModes modes;
    for (const StreamMode each : {StreamMode::values, StreamMode::updates, StreamMode::tasks, StreamMode::checkpoints,
                                  StreamMode::debug, StreamMode::custom}) {
        if (has(toString(each))) modes = modes | each;
    }
    if (has("messages-tuple")) modes = modes | StreamMode::messages;
    // Whole messages are found in the states.
    if (has("messages")) modes = modes | StreamMode::messages | StreamMode::values;
    if (has("tools")) modes = modes | StreamMode::tasks | StreamMode::custom;
    if (has("events")) modes = modes | StreamMode::tasks | StreamMode::messages | StreamMode::values;
    return modes;
}

RunEvents::RunEvents(EventRun run, WantedModes wanted, bool subgraphs, const MessageChannels& channels,
                     serve::ErrorText error_text, Tell tell)
    : shapes_(std::move(run), channels, std::move(error_text)),
      wanted_(std::move(wanted)),
      reported_(wanted_.reported()),
      has_subgraphs_(subgraphs),
      channels_(channels),
      tell_(std::move(tell)),
      runnables_(shapes_) {}

void RunEvents::tell(std::string_view mode, const StreamEvent& event, const json::value& data) const {
    std::string name(mode);
    if (has_subgraphs_ && !event.ns.empty()) name += "|" + joined(event.ns);
    tell_(std::move(name), stategraph::detail::jsonText(data));
}

void RunEvents::begin(const json::value& input) {
    if (wanted_.has("events")) tell_("events", stategraph::detail::jsonText(runnables_.begin(input)));
}

void RunEvents::end() {
    if (wanted_.has("events")) tell_("events", stategraph::detail::jsonText(runnables_.end(last_values_)));
}

/// The run may report more, for readers of the other protocol. The values of the graph itself are always of interest.
bool RunEvents::takes(const StreamEvent& event) const {
    if (!event.ns.empty() && !has_subgraphs_) return false;
    return reported_.has(event.mode) || (event.mode == StreamMode::values && event.ns.empty());
}

void RunEvents::take(const StreamEvent& event) {
    if (!takes(event)) return;
    switch (event.mode) {
        case StreamMode::values:
            return values(event);
        case StreamMode::updates:
            return updates(event);
        case StreamMode::tasks:
            return tasks(event);
        case StreamMode::checkpoints:
            return checkpoints(event);
        case StreamMode::debug:
            return debug(event);
        case StreamMode::custom:
            return custom(event);
        case StreamMode::messages:
            return message(event);
        default:
            return;
    }
}

void RunEvents::values(const StreamEvent& event) {
    json::value data = toJsonValue(event.data);
    const bool is_stop = isStop(data);
    if (is_stop) {
        data = json::object{{"__interrupt__", questionsJson(event.interrupts)}};
    } else {
        channels_.show(data, event.ns);
    }
    if (wanted_.has("values")) tell("values", event, data);
    if (wanted_.has("messages") && !is_stop && data.is_object()) complete(data.get_object(), event);
    if (event.ns.empty()) last_values_ = std::move(data);
}

void RunEvents::updates(const StreamEvent& event) {
    json::value data = toJsonValue(event.data);
    if (isStop(data)) {
        data = json::object{{"__interrupt__", questionsJson(event.interrupts)}};
    } else if (json::object* const nodes = data.if_object()) {
        for (auto& [node, update] : *nodes) channels_.show(update, event.ns);
    }
    tell("updates", event, data);
}

void RunEvents::tasks(const StreamEvent& event) {
    const json::object task = shapes_.task(event, toJsonValue(event.data));
    if (wanted_.has("tools")) {
        if (const auto call = tools_.take(event, task)) tell("tools", event, toolJson(*call));
    }
    const json::value* const error = task.if_contains("error");
    if (wanted_.has("events") && (error == nullptr || error->is_null()))
        tell("events", event, runnables_.task(event, task));
    if (wanted_.has("tasks")) tell("tasks", event, task);
}

void RunEvents::custom(const StreamEvent& event) {
    const json::value data = toJsonValue(event.data);
    if (wanted_.has("tools")) {
        if (const auto call = tools_.progress(event, data)) tell("tools", event, toolJson(*call));
    }
    if (wanted_.has("custom")) tell("custom", event, data);
}

void RunEvents::checkpoints(const StreamEvent& event) {
    tell("checkpoints", event, shapes_.checkpoint(event, toJsonValue(event.data)));
}

void RunEvents::debug(const StreamEvent& event) {
    const json::value data = toJsonValue(event.data);
    const std::string_view type = textIn(data, "type");
    const json::value& payload = memberIn(data, "payload");
    tell("debug", event,
         json::object{
             {"step", event.step},
             {"type", type},
             {"timestamp", isoTime(event.time, 3)},
             {"payload", type == "checkpoint" ? shapes_.checkpoint(event, payload) : shapes_.task(event, payload)}});
}

json::object RunEvents::messageMetadata(const StreamEvent& event, std::string_view task, bool is_piece) const {
    json::object metadata = shapes_.taskMetadata(event, task);
    metadata["tags"] = json::array();
    if (!is_piece) {
        metadata["tags"] = json::array{"graph:step:" + std::to_string(event.step)};
        metadata["name"] = event.node;
    }
    return metadata;
}

void RunEvents::message(const StreamEvent& event) {
    const json::value data = toJsonValue(event.data);
    const bool is_piece = memberIn(data, "delta") == json::value(true);
    const json::value& stored = memberIn(data, "message");
    json::value shown = is_piece ? pieceToWire(stored) : toWire(stored);
    if (is_piece) numberCalls(shown);
    json::object metadata = messageMetadata(event, textIn(data, "task_id"), is_piece);
    if (wanted_.has("messages") && is_piece && shown.is_object()) partial(event, shown.get_object(), metadata);
    if (wanted_.has("events") && is_piece) {
        for (const json::object& each : runnables_.piece(event, textIn(data, "task_id"), shown))
            tell("events", event, each);
    }
    if (wanted_.has("messages-tuple")) tell("messages", event, json::array{shown, std::move(metadata)});
}

void RunEvents::numberCalls(json::value& piece) {
    json::object* const message = piece.if_object();
    json::value* const chunks = message != nullptr ? message->if_contains("tool_call_chunks") : nullptr;
    if (chunks == nullptr || !chunks->is_array() || chunks->get_array().empty()) return;
    std::vector<std::string>& known = calls_[std::string(textIn(piece, "id"))];
    for (json::value& each : chunks->get_array()) {
        const std::string id(textIn(each, "id"));
        auto place = std::ranges::find(known, id);
        if (place == known.end()) place = known.insert(place, id);
        if (json::object* const call = each.if_object()) (*call)["index"] = place - known.begin();
    }
}

void RunEvents::partial(const StreamEvent& event, const json::object& piece, json::object metadata) {
    const std::string id(textIn(piece, "id"));
    const auto [known, is_new] = written_.try_emplace(id, piece);
    if (is_new) {
        metadata.erase("tags");
        tell("messages/metadata", event, json::object{{id, {{"metadata", std::move(metadata)}}}});
    } else {
        join(known->second, piece);
    }
    tell("messages/partial", event, json::array{known->second});
}

void RunEvents::complete(const json::object& values, const StreamEvent& event) {
    const GraphDescription* const graph = channels_.at(event.ns);
    if (graph == nullptr) return;
    json::array whole;
    for (const DescribedChannel& channel : graph->channels) {
        const json::value* const messages = values.if_contains(channel.name);
        if (channel.reducer != "messages" || messages == nullptr || !messages->is_array()) continue;
        for (const json::value& each : messages->get_array()) {
            const std::string id(textIn(each, "id"));
            if (id.empty() || !completed_.insert(id).second) continue;
            written_.erase(id);
            whole.push_back(each);
        }
    }
    if (!whole.empty()) tell("messages/complete", event, whole);
}

}  // namespace stategraph::langgraph
