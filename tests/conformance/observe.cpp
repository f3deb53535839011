#include "tests/conformance/observe.hpp"

#include <algorithm>
#include <stdexcept>

namespace conformance {
namespace {

void requireSame(const Snapshot& snapshot, const json::object& values) {
    if (json::value(snapshot.values.toObject()) != json::value(values)) {
        throw std::logic_error("a snapshot's values and values_as_cbor differ: " +
                               json::serialize(snapshot.values.toObject()) + " and " + json::serialize(values));
    }
}

// What a snapshot of any graph shows, with the states of subgraphs if they were asked for.
template <class S>
json::object describeValues(const S& snapshot);

json::object describeTask(const sg::TaskSnapshot& task) {
    json::object shown{{"name", task.name}, {"interrupts", values(task.interrupts)}, {"error", task.error.has_value()}};
    const json::value result = sg::toJsonValue(task.result);
    if (result.is_object() && !result.get_object().empty()) shown.emplace("result", result);
    if (task.state) shown.emplace("state", describeValues(*task.state));
    return shown;
}

template <class S>
json::object describeValues(const S& snapshot) {
    const json::value held = sg::toJsonValue(snapshot.values_as_cbor);
    json::array tasks;
    for (const auto& task : snapshot.tasks) tasks.push_back(describeTask(task));
    return {{"values", held.is_object() ? held.get_object() : json::object()},
            {"next", json::value_from(snapshot.next)},
            {"tasks", std::move(tasks)}};
}

json::object taskData(const json::object& data) {
    json::object shown{{"name", get(data, "name")}, {"interrupts", get(data, "interrupts")}};
    const std::string key = data.contains("input") ? "input" : "result";
    shown.emplace(key, get(data, key));
    if (key == "result") shown.emplace("error", get(data, "error").is_null() ? json::value() : json::value(true));
    return shown;
}

// The recordings list the questions separately from the values.
json::value valuesData(json::value data) {
    data.as_object().erase("__interrupt__");
    return data;
}

json::object checkpointData(const json::object& data) {
    const json::object& metadata = get(data, "metadata").as_object();
    std::vector<std::string> next = names(get(data, "next"));
    std::sort(next.begin(), next.end());
    return {{"values", get(data, "values")},
            {"step", get(metadata, "step")},
            {"source", get(metadata, "source")},
            {"next", json::value_from(next)}};
}

}  // namespace

Ordinals::Ordinals(sg::BaseCheckpointSaver* saver, const std::string& thread) {
    if (saver == nullptr) return;
    for (const auto& listed : saver->list({.thread_id = thread, .checkpoint_ns = ""})) ids_.push_back(listed.id);
    std::sort(ids_.begin(), ids_.end());
}

json::value Ordinals::of(sg::CheckpointId id) const {
    const auto found = std::find(ids_.begin(), ids_.end(), id);
    return found != ids_.end() ? json::value(found - ids_.begin()) : json::value();
}

json::array values(const std::vector<sg::Interrupt>& interrupts) {
    json::array shown;
    for (const auto& interrupt : interrupts) shown.push_back(sg::toJsonValue(interrupt.value));
    return shown;
}

json::object describe(const Snapshot& snapshot, const Ordinals& ordinals) {
    json::object shown = describeValues(snapshot);
    requireSame(snapshot, shown["values"].as_object());
    shown.emplace("checkpoint", ordinals.of(snapshot.config.checkpoint_id));
    shown.emplace("parent",
                  snapshot.parent_config ? ordinals.of(snapshot.parent_config->checkpoint_id) : json::value());
    if (snapshot.config.checkpoint_id) {
        shown.emplace("source", sg::toString(snapshot.source));
        shown.emplace("step", snapshot.step);
    }
    return shown;
}

json::object describe(const std::exception& error) {
    const auto made = [&](std::string_view kind) { return json::object{{"kind", kind}, {"detail", error.what()}}; };
    if (const auto* node = dynamic_cast<const sg::NodeError*>(&error)) {
        json::object shown = made("node");
        shown.emplace("message", node->reason());
        return shown;
    }
    if (const auto* unknown = dynamic_cast<const sg::UnknownInterruptError*>(&error)) {
        json::object shown = made("unknown_interrupt");
        shown.emplace("reason", sg::toString(unknown->reason()));
        return shown;
    }
    if (const auto* own = dynamic_cast<const sg::Error*>(&error)) {
        switch (own->code()) {
            case sg::Errc::invalid_update:
                return made("invalid_update");
            case sg::Errc::recursion_limit:
                return made("recursion_limit");
            case sg::Errc::empty_input:
                return made("empty_input");
            case sg::Errc::invalid_graph:
                return made("invalid_graph");
            case sg::Errc::invalid_argument:
            case sg::Errc::missing_checkpointer:
                return made("invalid_argument");
            default:
                return made(sg::toString(own->code()));
        }
    }
    return made("exception");
}

void Chunks::take(const sg::StreamEvent& event) {
    json::object chunk{{"mode", sg::toString(event.mode)}};
    const json::value data = sg::toJsonValue(event.data);
    switch (event.mode) {
        case sg::StreamMode::tasks:
            chunk.emplace("data", taskData(data.as_object()));
            break;
        case sg::StreamMode::checkpoints:
            chunk.emplace("data", checkpointData(data.as_object()));
            break;
        case sg::StreamMode::values:
            chunk.emplace("data", valuesData(data));
            break;
        default:
            chunk.emplace("data", data);
    }
    if (subgraphs_) {
        json::array path;
        for (const auto& name : event.ns) path.emplace_back(name.substr(0, name.find(':')));
        chunk.emplace("ns", std::move(path));
    }
    if (event.mode == sg::StreamMode::values && !event.interrupts.empty())
        chunk.emplace("interrupts", values(event.interrupts));
    chunks_.push_back(std::move(chunk));
}

void Chunks::markBreakpoint() {
    if (chunks_.empty()) return;
    json::object& last = chunks_.back().as_object();
    if (get(last, "mode") == "values") last.emplace("interrupts", json::array());
}

}  // namespace conformance
