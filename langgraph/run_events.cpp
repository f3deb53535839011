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

std::string joined(const std::vector<std::string>& ns) {
    std::string text;
    for (const std::string& each : ns) text += (text.empty() ? "" : "|") + each;
    return text;
}

const json::value& memberOf(const json::value& of, std::string_view name) {
    static const json::value none;
    const json::object* const object = of.if_object();
    const json::value* const found = object != nullptr ? object->if_contains(name) : nullptr;
    return found != nullptr ? *found : none;
}

std::string_view textOf(const json::value& of, std::string_view name) {
    const json::value& found = memberOf(of, name);
    return found.is_string() ? std::string_view(found.get_string()) : std::string_view();
}

/// Whether a value reports questions, or a breakpoint, in place of a state.
bool isStop(const json::value& data) { return data.is_object() && data.get_object().contains("__interrupt__"); }

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
        const bool is_new = all.get_array().empty() || !textOf(each, "name").empty();
        if (is_new) {
            all.get_array().push_back(each);
        } else {
            json::value& arguments = all.get_array().back().get_object()["args"];
            arguments =
                json::value(std::string(textOf(all.get_array().back(), "args")) + std::string(textOf(each, "args")));
        }
    }
}

}  // namespace

WantedModes::WantedModes(const std::vector<std::string>& given) : names(given.begin(), given.end()) {
    static constexpr std::array known{"values", "messages", "messages-tuple", "updates",
                                      "tasks",  "custom",   "checkpoints",    "debug"};
    for (const std::string& each : names) {
        if (each == "events" || each == "tools")
            throw InvalidRequest("stream_mode: this server does not send '" + each + "'");
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
    return modes;
}

RunEvents::RunEvents(EventRun run, WantedModes wanted, bool subgraphs, const MessageChannels& channels,
                     serve::ErrorText error_text, Tell tell)
    : run_(std::move(run)),
      wanted_(std::move(wanted)),
      has_subgraphs_(subgraphs),
      channels_(channels),
      error_text_(std::move(error_text)),
      tell_(std::move(tell)) {}

void RunEvents::tell(std::string_view mode, const StreamEvent& event, const json::value& data) const {
    std::string name(mode);
    if (has_subgraphs_ && !event.ns.empty()) name += "|" + joined(event.ns);
    tell_(std::move(name), stategraph::detail::jsonText(data));
}

void RunEvents::take(const StreamEvent& event) {
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
            return tell("custom", event, toJsonValue(event.data));
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
    if (wanted_.has("messages") && !is_stop && data.is_object()) complete(data.get_object(), event);
    if (wanted_.has("values")) tell("values", event, data);
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

json::array RunEvents::triggersOf(const StreamEvent& event) const {
    if (event.send) return {"__pregel_push"};
    const GraphDescription* const graph = channels_.at(event.ns);
    if (graph != nullptr) {
        const auto join = std::ranges::find(graph->joins, event.node, &DescribedJoin::to);
        const bool has_edge = std::ranges::find(graph->edges, event.node, &DescribedEdge::to) != graph->edges.end();
        if (join != graph->joins.end() && !has_edge) {
            std::string name;
            for (const std::string& each : join->from) name += (name.empty() ? "" : "+") + each;
            return {"join:" + name + ":" + event.node};
        }
    }
    return {"branch:to:" + event.node};
}

json::object RunEvents::taskJson(const StreamEvent& event, const json::value& data) const {
    json::object task = data.is_object() ? data.get_object() : json::object();
    task["interrupts"] = questionsJson(event.interrupts);
    if (json::value* const input = task.if_contains("input")) channels_.show(*input, event.ns);
    if (json::value* const result = task.if_contains("result")) channels_.show(*result, event.ns);
    json::value* const error = task.if_contains("error");
    if (error == nullptr) {
        task["triggers"] = triggersOf(event);
        task["metadata"] = run_.metadata;
    } else if (error->is_string() && error_text_) {
        *error = error_text_(serve::failed_task, error->get_string());
    }
    return task;
}

void RunEvents::tasks(const StreamEvent& event) { tell("tasks", event, taskJson(event, toJsonValue(event.data))); }

json::object RunEvents::configJson(const json::value& config) const {
    return {{"configurable",
             {{"thread_id", run_.thread_id},
              {"run_id", run_.run_id},
              {"graph_id", run_.graph_id},
              {"assistant_id", run_.assistant_id},
              {"checkpoint_ns", textOf(config, "checkpoint_ns")},
              {"checkpoint_id", textOf(config, "checkpoint_id")}}},
            {"metadata", run_.metadata},
            {"recursion_limit", run_.recursion_limit},
            {"tags", json::array()}};
}

json::object RunEvents::checkpointJson(const StreamEvent& event, const json::value& data) const {
    json::object checkpoint{{"config", configJson(memberOf(data, "config"))}};
    const auto idOf = [&](const json::value& config) -> json::value {
        if (!config.is_object()) return nullptr;
        return {{"thread_id", run_.thread_id},
                {"checkpoint_id", textOf(config, "checkpoint_id")},
                {"checkpoint_ns", textOf(config, "checkpoint_ns")},
                {"checkpoint_map", nullptr}};
    };
    const json::value& parent = memberOf(data, "parent_config");
    checkpoint["checkpoint"] = idOf(memberOf(data, "config"));
    checkpoint["parent_checkpoint"] = idOf(parent);
    if (parent.is_object()) checkpoint["parent_config"] = configJson(parent);
    json::value values = memberOf(data, "values");
    channels_.show(values, event.ns);
    checkpoint["values"] = std::move(values);
    json::object metadata =
        memberOf(data, "metadata").is_object() ? memberOf(data, "metadata").get_object() : json::object();
    metadata.erase(serve::owner_key);
    metadata["parents"] = json::object();
    checkpoint["metadata"] = std::move(metadata);
    checkpoint["next"] = memberOf(data, "next");
    json::array tasks;
    if (const json::array* const due = memberOf(data, "tasks").if_array()) {
        for (const json::value& each : *due) {
            tasks.push_back({{"id", textOf(each, "id")},
                             {"name", textOf(each, "name")},
                             {"path", json::array{"__pregel_pull", textOf(each, "name")}},
                             {"interrupts", json::array()}});
        }
    }
    checkpoint["tasks"] = std::move(tasks);
    return checkpoint;
}

void RunEvents::checkpoints(const StreamEvent& event) {
    tell("checkpoints", event, checkpointJson(event, toJsonValue(event.data)));
}

void RunEvents::debug(const StreamEvent& event) {
    const json::value data = toJsonValue(event.data);
    const std::string_view type = textOf(data, "type");
    const json::value& payload = memberOf(data, "payload");
    tell("debug", event,
         json::object{{"step", event.step},
                      {"type", type},
                      {"timestamp", isoTime(event.time, 3)},
                      {"payload", type == "checkpoint" ? checkpointJson(event, payload) : taskJson(event, payload)}});
}

json::object RunEvents::messageMetadata(const StreamEvent& event, std::string_view task, bool is_piece) const {
    json::object metadata = run_.metadata;
    std::string ns = joined(event.ns);
    ns += (ns.empty() ? "" : "|") + event.node + ":" + std::string(task);
    metadata["tags"] = json::array();
    if (!is_piece) {
        metadata["tags"] = json::array{"graph:step:" + std::to_string(event.step)};
        metadata["name"] = event.node;
    }
    metadata["langgraph_step"] = event.step;
    metadata["langgraph_node"] = event.node;
    metadata["langgraph_triggers"] = triggersOf(event);
    metadata["langgraph_path"] =
        event.send ? json::array{"__pregel_push", *event.send} : json::array{"__pregel_pull", event.node};
    metadata["langgraph_checkpoint_ns"] = ns;
    metadata["checkpoint_ns"] = std::move(ns);
    return metadata;
}

void RunEvents::message(const StreamEvent& event) {
    const json::value data = toJsonValue(event.data);
    const bool is_piece = memberOf(data, "delta") == json::value(true);
    const json::value& stored = memberOf(data, "message");
    const json::value shown = is_piece ? pieceToWire(stored) : toWire(stored);
    json::object metadata = messageMetadata(event, textOf(data, "task_id"), is_piece);
    if (wanted_.has("messages") && is_piece && shown.is_object()) partial(event, shown.get_object(), metadata);
    if (wanted_.has("messages-tuple")) tell("messages", event, json::array{shown, std::move(metadata)});
}

void RunEvents::partial(const StreamEvent& event, const json::object& piece, json::object metadata) {
    const std::string id(textOf(piece, "id"));
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
            const std::string id(textOf(each, "id"));
            if (id.empty() || !completed_.insert(id).second) continue;
            written_.erase(id);
            whole.push_back(each);
        }
    }
    if (!whole.empty()) tell("messages/complete", event, whole);
}

}  // namespace stategraph::langgraph
