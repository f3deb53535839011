#include "langgraph/state_json.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include <stategraph/graph_description.hpp>
#include <stategraph/json.hpp>

#include "serve/error_texts.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

constexpr std::string_view pushed = "push:";
constexpr std::string_view pulled = "pull:";

json::value textOrNull(const std::string& text) { return text.empty() ? json::value() : json::value(text); }

std::string_view nodeOf(std::string_view place) { return place.substr(0, place.find(':')); }

}  // namespace

void addPlace(const std::string& ns, std::int64_t step, json::object& metadata) {
    const std::string node(nodeOf(std::string_view(ns).substr(ns.rfind('|') + 1)));
    metadata["langgraph_step"] = step;
    metadata["langgraph_node"] = node;
    metadata["langgraph_triggers"] = json::array{"branch:to:" + node};
    metadata["langgraph_path"] = json::array{"__pregel_pull", node};
    metadata["langgraph_checkpoint_ns"] = ns;
    metadata["checkpoint_ns"] = ns;
}

std::string innerNamespace(const MessageChannels& channels, const std::string& ns, std::string_view node,
                           std::string_view task) {
    const GraphDescription* const graph = channels.at(placesOf(ns));
    if (graph == nullptr) return {};
    const auto found = std::ranges::find(graph->nodes, node, &DescribedNode::name);
    if (found == graph->nodes.end() || !found->subgraph) return {};
    return ns + (ns.empty() ? "" : "|") + std::string(node) + ":" + std::string(task);
}

json::array questionsJson(std::span<const Interrupt> questions) {
    json::array list;
    for (const Interrupt& each : questions)
        list.push_back({{"id", each.id.toString()}, {"value", toJsonValue(each.value)}});
    return list;
}

json::array pathJson(std::string_view path) {
    if (path.starts_with(pushed)) {
        std::int64_t index = 0;
        path.remove_prefix(pushed.size());
        std::from_chars(path.data(), path.data() + path.size(), index);
        return {"__pregel_push", index, false};
    }
    if (path.starts_with(pulled)) path.remove_prefix(pulled.size());
    return {"__pregel_pull", path};
}

json::value checkpointJson(const Config& config, const Around& around) {
    if (config.checkpoint_id.empty()) return nullptr;
    const std::string& ns = config.checkpoint_ns;
    json::value map;
    if (!ns.empty() && !around.parents.empty()) {
        json::object ids = around.parents;
        ids[ns] = config.checkpoint_id.toString();
        map = std::move(ids);
    }
    return {{"thread_id", config.thread_id.toString()},
            {"checkpoint_id", config.checkpoint_id.toString()},
            {"checkpoint_ns", ns},
            {"checkpoint_map", std::move(map)}};
}

json::value valuesJson(const Value& values, const MessageChannels& channels, std::string_view ns) {
    json::value shown = toJsonValue(values);
    if (!shown.is_object()) shown = json::object();
    channels.show(shown, placesOf(ns));
    return shown;
}

json::object metadataJson(const SnapshotData& at, const ShownThread& shown, const Around& around) {
    json::object metadata{{"graph_id", shown.graph_id}};  // which an edit does not store
    for (const MetadataEntry& each : static_cast<const Metadata&>(at.metadata))
        metadata[each.key] = toJsonValue(each.value);
    metadata.erase(serve::owner_key);
    metadata["source"] = toString(at.source);
    metadata["step"] = at.step;
    metadata["parents"] = around.parents;
    metadata["thread_id"] = shown.thread_id;
    if (const std::string& ns = at.config.checkpoint_ns; !ns.empty() && !around.parents.empty()) {
        metadata["checkpoint_map"] = around.parents;
        addPlace(ns, around.step, metadata);
    }
    return metadata;
}

json::array tasksJson(const SnapshotData& at, const ShownThread& shown) {
    json::array tasks;
    for (const TaskSnapshot& each : at.tasks) {
        json::object task{{"id", each.id.toString()}, {"name", each.name}, {"path", pathJson(each.path)}};
        task["error"] = nullptr;
        if (each.error)
            task["error"] = shown.error_text ? shown.error_text(serve::failed_task, *each.error) : *each.error;
        task["interrupts"] = questionsJson(each.interrupts);
        task["checkpoint"] = nullptr;
        task["state"] = nullptr;
        if (each.state) {
            const Around around{.parents = {{at.config.checkpoint_ns, at.config.checkpoint_id.toString()}},
                                .step = at.step + 1};
            task["state"] = stateJson(*each.state, shown, around);
        } else {
            const std::string ns = each.state_config ? static_cast<const std::string&>(each.state_config->checkpoint_ns)
                                                     : innerNamespace(shown.channels, at.config.checkpoint_ns,
                                                                      each.name, each.id.toString());
            if (!ns.empty()) task["checkpoint"] = json::object{{"thread_id", shown.thread_id}, {"checkpoint_ns", ns}};
        }
        json::value result = toJsonValue(each.result);
        // The input is shown as the client sent it.
        if (each.name != START) shown.channels.show(result, placesOf(at.config.checkpoint_ns));
        task["result"] = std::move(result);
        tasks.push_back(std::move(task));
    }
    return tasks;
}

json::object openQuestions(const SnapshotData& at) {
    json::object questions;
    for (const TaskSnapshot& each : at.tasks) {
        if (!each.finished) questions[each.id.toString()] = questionsJson(each.open_interrupts);
    }
    return questions;
}

json::object emptyState() {
    return {{"values", json::object()}, {"next", json::array()}, {"tasks", json::array()},
            {"created_at", nullptr},    {"checkpoint", nullptr}, {"parent_checkpoint", nullptr}};
}

json::object stateJson(const SnapshotData& at, const ShownThread& shown, const Around& around) {
    if (at.config.checkpoint_id.empty()) return emptyState();
    json::object state{{"values", valuesJson(at.values_as_cbor, shown.channels, at.config.checkpoint_ns)}};
    json::array next;
    for (const std::string& each : at.next) next.emplace_back(each);
    state["next"] = std::move(next);
    state["tasks"] = tasksJson(at, shown);
    state["metadata"] = metadataJson(at, shown, around);
    state["created_at"] = textOrNull(at.createdAt());
    state["checkpoint"] = checkpointJson(at.config, around);
    state["parent_checkpoint"] = at.parent_config ? checkpointJson(*at.parent_config) : json::value();
    return state;
}

}  // namespace stategraph::langgraph
