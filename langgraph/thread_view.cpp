#include "langgraph/thread_view.hpp"

#include <algorithm>
#include <utility>

#include <stategraph/detail/thread_read.hpp>
#include <stategraph/snapshot.hpp>

#include "langgraph/live_runs.hpp"
#include "langgraph/state_json.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

bool isSelected(const std::vector<std::string>& select, std::string_view name) {
    return select.empty() || std::ranges::find(select, name) != select.end();
}

SnapshotData stateOf(const ServedGraph& graph, const ThreadRecord& thread) {
    return graph.graph->state({.thread_id = ThreadId(thread.thread_id)}, false);
}

}  // namespace

std::string threadStatus(const Service& service, const ThreadRecord& thread) {
    if (service.runs->isBusy(thread.thread_id)) return "busy";
    const ServedGraph* const graph = service.graph(thread.graphId());
    if (graph == nullptr) return "idle";
    switch (stategraph::detail::threadStatus(*graph->graph->core(), ThreadId(thread.thread_id))) {
        case Status::failed:
        case Status::limit:
        case Status::damaged:
        case Status::timed_out:
            return "error";
        case Status::interrupted:
        case Status::breakpoint:
        case Status::sleeping:
        case Status::edited:
            return "interrupted";
        default:  // done, cancelled, or left by a run of another door
            return "idle";
    }
}

json::object threadJson(const Service& service, const ThreadRecord& thread, const std::vector<std::string>& select,
                        std::size_t* bytes) {
    json::object shown;
    const auto add = [&](const char* name, auto value) {
        if (isSelected(select, name)) shown[name] = value();
    };
    add("thread_id", [&] { return json::value(thread.thread_id); });
    add("created_at", [&] { return json::value(thread.created_at); });
    add("updated_at", [&] { return json::value(thread.updated_at); });
    add("metadata", [&] { return json::value(thread.metadata); });
    add("config", [&] { return json::value(thread.config); });
    add("status", [&] { return json::value(threadStatus(service, thread)); });
    const ServedGraph* const graph = service.graph(thread.graphId());
    if (graph == nullptr || !(isSelected(select, "values") || isSelected(select, "interrupts"))) return shown;
    const SnapshotData at = stateOf(*graph, thread);
    if (at.config.checkpoint_id.empty()) return shown;
    if (bytes != nullptr) *bytes += at.values_as_cbor.bytes().size();
    add("values", [&] { return valuesJson(at.values_as_cbor, graph->channels); });
    add("interrupts", [&] { return json::value(openQuestions(at)); });
    return shown;
}

json::value threadValues(const Service& service, const ThreadRecord& thread) {
    const ServedGraph* const graph = service.graph(thread.graphId());
    if (graph == nullptr) return json::object();
    return valuesJson(stateOf(*graph, thread).values_as_cbor, graph->channels);
}

bool contains(const json::value& value, const json::value& filter) {
    const json::object* const wanted = filter.if_object();
    if (wanted == nullptr) return filter.is_null() || value == filter;
    const json::object* const object = value.if_object();
    return object != nullptr && std::ranges::all_of(*wanted, [&](const auto& each) {
               const json::value* const member = object->if_contains(each.key());
               return each.value().is_null() || (member != nullptr && contains(*member, each.value()));
           });
}

}  // namespace stategraph::langgraph
