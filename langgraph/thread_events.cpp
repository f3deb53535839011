#include "langgraph/thread_events.hpp"

#include <chrono>
#include <utility>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/json.hpp>

#include "langgraph/wire_message.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

std::int64_t millisecondsOf(const StreamEvent& event) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(event.time.time_since_epoch()).count();
}

std::vector<std::string> placeOf(const StreamEvent& event, std::string_view task) {
    std::vector<std::string> ns = event.ns;
    ns.push_back(event.node + ":" + std::string(task));
    return ns;
}

std::string_view nodeOf(const std::vector<std::string>& ns) {
    const std::string_view place = ns.back();
    return place.substr(0, place.find(':'));
}

}  // namespace

ThreadEvents::ThreadEvents(std::shared_ptr<ThreadFeed> feed, EventJson shapes)
    : feed_(std::move(feed)), shapes_(std::move(shapes)) {}

StreamModes ThreadEvents::reported() {
    return {StreamMode::values,      StreamMode::updates, StreamMode::tasks,
            StreamMode::checkpoints, StreamMode::custom,  StreamMode::messages};
}

void ThreadEvents::begin() {
    if (std::exchange(has_begun_, true)) return;
    feed_->addLifecycle({}, {.event = "running", .graph_name = shapes_.run().graph_id});
}

void ThreadEvents::end(const std::string& status) {
    for (auto& [ns, held] : std::exchange(held_, {})) feed_->add("values", ns, std::move(held.params));
    ThreadFeed::Lifecycle ended{.event = "completed", .graph_name = shapes_.run().graph_id};
    if (status == "interrupted" || (status == "success" && is_stopped_)) {
        ended.event = "interrupted";
    } else if (status != "success") {
        ended.event = "failed";
        if (error_.name.empty()) error_ = {.name = "Error", .message = "The run ended with the status " + status};
        ended.error = stategraph::detail::jsonText(json::object{{"error", error_.name}, {"message", error_.message}});
    }
    feed_->addLifecycle({}, std::move(ended));
}

void ThreadEvents::add(std::string_view channel, const StreamEvent& event, json::value data) {
    json::object params{{"timestamp", millisecondsOf(event)}};
    if (channel == "updates") params["node"] = event.node;
    params["data"] = std::move(data);
    feed_->add(channel, event.ns, std::move(params));
}

void ThreadEvents::enter(const std::vector<std::string>& ns) {
    if (ns.empty() || !entered_.insert(ns).second) return;
    enter({ns.begin(), ns.end() - 1});
    feed_->addLifecycle(ns, {.event = "started", .graph_name = std::string(nodeOf(ns))});
}

void ThreadEvents::leave(const std::vector<std::string>& ns, const char* how) {
    if (entered_.erase(ns) == 0) return;
    feed_->addLifecycle(ns, {.event = how, .graph_name = std::string(nodeOf(ns))});
}

void ThreadEvents::release(const std::vector<std::string>& ns) {
    const auto found = held_.find(ns);
    if (found == held_.end()) return;
    feed_->add("values", ns, std::move(found->second.params));
    held_.erase(found);
}

void ThreadEvents::take(const StreamEvent& event) {
    enter(event.ns);
    if (event.mode != StreamMode::checkpoints) release(event.ns);
    switch (event.mode) {
        case StreamMode::values:
            return values(event);
        case StreamMode::checkpoints:
            return checkpoint(event);
        case StreamMode::updates:
            return updates(event);
        case StreamMode::tasks:
            return task(event);
        case StreamMode::messages:
            return message(event);
        case StreamMode::custom:
            return custom(event);
        default:
            return;
    }
}

void ThreadEvents::values(const StreamEvent& event) {
    json::value data = toJsonValue(event.data);
    if (isStop(data)) return;  // the questions are events of their own
    shapes_.channels().show(data, event.ns);
    held_[event.ns] = {.params = {{"timestamp", millisecondsOf(event)}, {"data", std::move(data)}}, .step = event.step};
}

/// A checkpoint is reported before the state that it has, and only with it.
void ThreadEvents::checkpoint(const StreamEvent& event) {
    const auto held = held_.find(event.ns);
    if (held == held_.end()) return;
    if (held->second.step == event.step) {
        const json::value data = toJsonValue(event.data);
        const json::value& metadata = memberIn(data, "metadata");
        json::object shown{{"id", textIn(memberIn(data, "config"), "checkpoint_id")}};
        if (const std::string_view parent = textIn(memberIn(data, "parent_config"), "checkpoint_id"); !parent.empty())
            shown["parent_id"] = parent;
        shown["step"] = memberIn(metadata, "step");
        shown["source"] = memberIn(metadata, "source");
        add("checkpoints", event, std::move(shown));
    }
    release(event.ns);
}

void ThreadEvents::updates(const StreamEvent& event) {
    json::value data = toJsonValue(event.data);
    if (isStop(data) || !data.is_object()) return;
    finishMessage(event);
    for (auto& [node, update] : data.get_object()) {
        shapes_.channels().show(update, event.ns);
        add("updates", event, std::move(update));
    }
}

void ThreadEvents::task(const StreamEvent& event) {
    json::object task = shapes_.task(event, toJsonValue(event.data));
    const json::value* const id = task.if_contains("id");
    const std::vector<std::string> inside =
        placeOf(event, id != nullptr && id->is_string() ? std::string_view(id->get_string()) : std::string_view());
    const json::value* const error = task.if_contains("error");
    const bool has_failed = error != nullptr && !error->is_null();
    for (const Interrupt& each : event.interrupts) {
        if (!asked_.insert(each.id.toString()).second) continue;
        add("input", event, json::object{{"interrupt_id", each.id.toString()}, {"payload", toJsonValue(each.value)}});
    }
    const auto call = tools_.take(event, task);
    if (call && call->kind == ToolEvent::Kind::started) addTool(event, *call);
    if (error != nullptr) finishMessage(event);
    if (call && call->kind != ToolEvent::Kind::started) addTool(event, *call);
    add("tasks", event, std::move(task));
    if (error != nullptr) leave(inside, has_failed ? "failed" : "completed");
}

MessageBlocks::Tell ThreadEvents::tellAt(const StreamEvent& event, std::vector<std::string> ns) {
    return [this, time = millisecondsOf(event), ns = std::move(ns)](json::object data) {
        enter(ns);
        feed_->add("messages", ns, {{"timestamp", time}, {"data", std::move(data)}});
    };
}

void ThreadEvents::message(const StreamEvent& event) {
    const json::value data = toJsonValue(event.data);
    const bool is_piece = memberIn(data, "delta") == json::value(true);
    const json::value& stored = memberIn(data, "message");
    const json::value shown = is_piece ? pieceToWire(stored) : toWire(stored);
    const std::string_view type = textIn(shown, "type");
    if (type != "ai" && type != "human" && type != "system") return;  // results of tools are among the values
    const std::string task = taskKey(event);
    const std::vector<std::string> ns = placeOf(event, textIn(data, "task_id"));
    if (is_piece) {
        blocks_.piece(task, shown, tellAt(event, ns));
        writing_.insert_or_assign(task, ns);
    } else {
        blocks_.whole(task, shown, tellAt(event, ns));
    }
}

void ThreadEvents::finishMessage(const StreamEvent& event) {
    const auto written = writing_.find(taskKey(event));
    if (written == writing_.end()) return;
    blocks_.finish(written->first, tellAt(event, written->second));
    writing_.erase(written);
}

void ThreadEvents::custom(const StreamEvent& event) {
    json::value data = toJsonValue(event.data);
    if (const auto call = tools_.progress(event, data)) addTool(event, *call);
    add("custom", event, json::object{{"payload", std::move(data)}});
}

void ThreadEvents::addTool(const StreamEvent& event, const ToolEvent& call) {
    json::object shown{{"tool_call_id", call.call_id}, {"tool_name", call.name}};
    const auto text = [](const json::value& data) {
        return data.is_string() ? std::string(data.get_string()) : stategraph::detail::jsonText(data);
    };
    switch (call.kind) {
        case ToolEvent::Kind::started:
            shown["event"] = "tool-started";
            shown["input"] = call.data;
            break;
        case ToolEvent::Kind::progress:
            shown["event"] = "tool-output-delta";
            shown["delta"] = text(call.data);
            break;
        case ToolEvent::Kind::finished:
            shown["event"] = "tool-finished";
            shown["output"] = call.data;
            break;
        case ToolEvent::Kind::failed:
            shown["event"] = "tool-error";
            shown["message"] = text(call.data);
            break;
    }
    add("tools", event, std::move(shown));
}

}  // namespace stategraph::langgraph
