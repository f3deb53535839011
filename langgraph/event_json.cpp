#include "langgraph/event_json.hpp"

#include <algorithm>
#include <utility>

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

json::object EventJson::config(const json::value& config) const {
    return {{"configurable",
             {{"thread_id", run_.thread_id},
              {"run_id", run_.run_id},
              {"graph_id", run_.graph_id},
              {"assistant_id", run_.assistant_id},
              {"checkpoint_ns", textIn(config, "checkpoint_ns")},
              {"checkpoint_id", textIn(config, "checkpoint_id")}}},
            {"metadata", run_.metadata},
            {"recursion_limit", run_.recursion_limit},
            {"tags", json::array()}};
}

json::object EventJson::checkpoint(const StreamEvent& event, const json::value& data) const {
    json::object checkpoint{{"config", config(memberIn(data, "config"))}};
    const auto idOf = [&](const json::value& config) -> json::value {
        if (!config.is_object()) return nullptr;
        return {{"thread_id", run_.thread_id},
                {"checkpoint_id", textIn(config, "checkpoint_id")},
                {"checkpoint_ns", textIn(config, "checkpoint_ns")},
                {"checkpoint_map", nullptr}};
    };
    const json::value& parent = memberIn(data, "parent_config");
    checkpoint["checkpoint"] = idOf(memberIn(data, "config"));
    checkpoint["parent_checkpoint"] = idOf(parent);
    if (parent.is_object()) checkpoint["parent_config"] = config(parent);
    json::value values = memberIn(data, "values");
    channels_.show(values, event.ns);
    checkpoint["values"] = std::move(values);
    json::object metadata =
        memberIn(data, "metadata").is_object() ? memberIn(data, "metadata").get_object() : json::object();
    metadata.erase(serve::owner_key);
    metadata["parents"] = json::object();
    checkpoint["metadata"] = std::move(metadata);
    checkpoint["next"] = memberIn(data, "next");
    json::array tasks;
    if (const json::array* const due = memberIn(data, "tasks").if_array()) {
        for (const json::value& each : *due) {
            tasks.push_back({{"id", textIn(each, "id")},
                             {"name", textIn(each, "name")},
                             {"path", json::array{"__pregel_pull", textIn(each, "name")}},
                             {"interrupts", json::array()}});
        }
    }
    checkpoint["tasks"] = std::move(tasks);
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
        event.send ? json::array{"__pregel_push", *event.send} : json::array{"__pregel_pull", event.node};
    metadata["langgraph_checkpoint_ns"] = ns;
    metadata["checkpoint_ns"] = std::move(ns);
    return metadata;
}

}  // namespace stategraph::langgraph
