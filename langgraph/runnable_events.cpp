#include "langgraph/runnable_events.hpp"

#include <utility>

#include "langgraph/identifiers.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

constexpr const char* graph_name = "LangGraph";

json::object ofGraph(const char* event, json::object data, const EventRun& run) {
    return {{"event", event},        {"data", std::move(data)}, {"name", graph_name},
            {"tags", json::array()}, {"run_id", run.run_id},    {"metadata", run.metadata}};
}

}  // namespace

json::object RunnableEvents::begin(const json::value& input) {
    input_ = input;
    return ofGraph("on_chain_start", {{"input", input}}, shapes_.run());
}

json::object RunnableEvents::end(const json::value& output) {
    return ofGraph("on_chain_end", {{"output", output}, {"input", input_}}, shapes_.run());
}

json::object RunnableEvents::ofTask(std::string_view event_name, const StreamEvent& event, std::string_view task,
                                    std::string_view run_id, json::object data) const {
    return {{"event", event_name}, {"data", std::move(data)},
            {"name", event.node},  {"tags", json::array{"graph:step:" + std::to_string(event.step)}},
            {"run_id", run_id},    {"metadata", shapes_.taskMetadata(event, task)}};
}

json::object RunnableEvents::task(const StreamEvent& event, const json::object& task) {
    const json::value shown(task);
    const std::string id(textIn(shown, "id"));
    if (!task.contains("error")) {
        Node node{.run_id = newId(), .input = memberIn(shown, "input")};
        json::object begun = ofTask("on_chain_start", event, id, node.run_id, {{"input", node.input}});
        nodes_.insert_or_assign(id, std::move(node));
        return begun;
    }
    Node node;
    if (const auto found = nodes_.find(id); found != nodes_.end()) {
        node = std::move(found->second);
        nodes_.erase(found);
    } else {
        node.run_id = newId();
    }
    json::object data{{"output", memberIn(shown, "result")}, {"input", std::move(node.input)}};
    return ofTask("on_chain_end", event, id, node.run_id, std::move(data));
}

std::vector<json::object> RunnableEvents::piece(const StreamEvent& event, std::string_view task,
                                                const json::value& piece) {
    std::vector<json::object> events;
    const auto [model, is_new] = models_.try_emplace(std::string(textIn(piece, "id")));
    if (is_new) {
        model->second = newId();
        events.push_back(ofTask("on_chat_model_start", event, task, model->second, {{"input", json::object()}}));
    }
    events.push_back(ofTask("on_chat_model_stream", event, task, model->second, {{"chunk", piece}}));
    return events;
}

}  // namespace stategraph::langgraph
