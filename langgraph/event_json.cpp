#include "langgraph/event_json.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "langgraph/state_json.hpp"
#include "serve/error_texts.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

std::string joined(const std::vector<std::string>& ns) {
    std::string text;
    for (const std::string& each : ns) text += (text.empty() ? "" : "|") + each;
    return text;
}

const json::value& memberIn(const json::value& of, std::string_view name) {
    static const json::value none;
    const json::object* const object = of.if_object();
    const json::value* const found = object != nullptr ? object->if_contains(name) : nullptr;
    return found != nullptr ? *found : none;
}

std::string_view textIn(const json::value& of, std::string_view name) {
    const json::value& found = memberIn(of, name);
    return found.is_string() ? std::string_view(found.get_string()) : std::string_view();
}

std::string taskKey(const StreamEvent& event) {
    return joined(event.ns) + "|" + event.node + "|" + std::to_string(event.step) + "|" +
           (event.send ? std::to_string(*event.send) : "");
}

bool isStop(const json::value& data) { return data.is_object() && data.get_object().contains("__interrupt__"); }

json::array EventJson::triggersOf(const StreamEvent& event) const {
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

json::object EventJson::task(const StreamEvent& event, const json::value& data) const {
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

json::object EventJson::config(const json::value& config, const json::object& parents) const {
    const std::string ns(textIn(config, "checkpoint_ns"));
    json::object configurable{{"thread_id", run_.thread_id}, {"run_id", run_.run_id},
                              {"graph_id", run_.graph_id},   {"assistant_id", run_.assistant_id},
                              {"checkpoint_ns", ns},         {"checkpoint_id", textIn(config, "checkpoint_id")}};
    json::object metadata = run_.metadata;
    if (!parents.empty()) {
        configurable["checkpoint_map"] = parents;
        const std::size_t outer = ns.rfind('|');
        const auto around = newest_.find(outer == std::string::npos ? "" : ns.substr(0, outer));
        if (around != newest_.end()) addPlace(ns, around->second.step + 1, metadata);
    }
    return {{"configurable", std::move(configurable)},
            {"metadata", std::move(metadata)},
            {"recursion_limit", run_.recursion_limit},
            {"tags", json::array()}};
}

json::object EventJson::parentsOf(const StreamEvent& event) const {
    json::object parents;
    std::vector<std::string> outer = event.ns;
    while (!outer.empty()) {
        outer.pop_back();
        const std::string ns = joined(outer);
        if (const auto found = newest_.find(ns); found != newest_.end()) parents[ns] = found->second.id;
    }
    return parents;
}

void EventJson::note(const StreamEvent& event, const json::value& data) {
    const std::string ns = joined(event.ns);
    // The graphs inside have ended.
    std::erase_if(newest_, [&](const auto& each) {
        return each.first.size() > ns.size() && (ns.empty() || each.first.starts_with(ns + "|"));
    });
    const json::value& step = memberIn(memberIn(data, "metadata"), "step");
    newest_[ns] = {.id = std::string(textIn(memberIn(data, "config"), "checkpoint_id")),
                   .step = step.is_int64() ? step.get_int64() : 0};
}

json::array EventJson::dueTasks(const StreamEvent& event, const json::value& due) const {
    json::array tasks;
    if (!due.is_array()) return tasks;
    for (const json::value& each : due.get_array()) {
        const std::string_view name = textIn(each, "name");
        json::object task{{"id", textIn(each, "id")},
                          {"name", name},
                          {"path", json::array{"__pregel_pull", name}},
                          {"interrupts", json::array()}};
        const std::string inner = innerNamespace(channels_, joined(event.ns), name, textIn(each, "id"));
        if (!inner.empty())
            task["checkpoint"] = {{"thread_id", run_.thread_id},
                                  {"checkpoint_id", nullptr},
                                  {"checkpoint_ns", inner},
                                  {"checkpoint_map", nullptr}};
        tasks.push_back(std::move(task));
    }
    return tasks;
}

json::object EventJson::checkpoint(const StreamEvent& event, const json::value& data) {
    const json::object parents = parentsOf(event);
    json::object checkpoint{{"config", config(memberIn(data, "config"), parents)}};
    const auto idOf = [&](const json::value& config) -> json::value {
        if (!config.is_object()) return nullptr;
        return {{"thread_id", run_.thread_id},
                {"checkpoint_id", textIn(config, "checkpoint_id")},
                {"checkpoint_ns", textIn(config, "checkpoint_ns")},
                {"checkpoint_map", parents.empty() ? json::value() : json::value(parents)}};
    };
    const json::value& parent = memberIn(data, "parent_config");
    checkpoint["checkpoint"] = idOf(memberIn(data, "config"));
    checkpoint["parent_checkpoint"] = idOf(parent);
    if (parent.is_object()) checkpoint["parent_config"] = config(parent, parents);
    json::value values = memberIn(data, "values");
    channels_.show(values, event.ns);
    checkpoint["values"] = std::move(values);
    json::object metadata =
        memberIn(data, "metadata").is_object() ? memberIn(data, "metadata").get_object() : json::object();
    metadata.erase(serve::owner_key);
    metadata["parents"] = parents;
    checkpoint["metadata"] = std::move(metadata);
    checkpoint["next"] = memberIn(data, "next");
    checkpoint["tasks"] = dueTasks(event, memberIn(data, "tasks"));
    note(event, data);
    return checkpoint;
}

json::object EventJson::taskMetadata(const StreamEvent& event, std::string_view task) const {
    json::object metadata = run_.metadata;
    std::string ns = joined(event.ns);
    ns += (ns.empty() ? "" : "|") + event.node + ":" + std::string(task);
    metadata["langgraph_step"] = event.step;
    metadata["langgraph_node"] = event.node;
    metadata["langgraph_triggers"] = triggersOf(event);
    metadata["langgraph_path"] =
        event.send ? json::array{"__pregel_push", *event.send, false} : json::array{"__pregel_pull", event.node};
    metadata["langgraph_checkpoint_ns"] = ns;
    metadata["checkpoint_ns"] = std::move(ns);
    return metadata;
}

}  // namespace stategraph::langgraph
