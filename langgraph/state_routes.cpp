#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/command.hpp>
#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/call.hpp"
#include "langgraph/identifiers.hpp"
#include "langgraph/live_runs.hpp"
#include "langgraph/run_request.hpp"
#include "langgraph/state_json.hpp"
#include "src/history/edit_kind.hpp"

// States and histories of threads, read and written.
namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

ShownThread shownOf(const Call& call, const ThreadRecord& thread, const ServedGraph& graph) {
    return {.channels = graph.channels,
            .thread_id = thread.thread_id,
            .graph_id = graph.id,
            .error_text = call.service().errorTexts(graph.id, thread.thread_id)};
}

/// What is around the log of a graph inside, as the newest states of the graphs around it say. Empty if that log does
/// not belong to a task that is due.
Around aroundOf(const ServedGraph& graph, const Config& inside) {
    Around around;
    const std::string& ns = inside.checkpoint_ns;
    if (ns.empty()) return around;
    SnapshotData at = graph.graph->state({.thread_id = inside.thread_id}, true);
    while (!at.config.checkpoint_id.empty()) {
        around.parents[std::string(at.config.checkpoint_ns)] = at.config.checkpoint_id.toString();
        around.step = at.step + 1;
        std::shared_ptr<const SnapshotData> next;
        for (const TaskSnapshot& task : at.tasks) {
            if (!task.state) continue;
            const std::string& inner = task.state->config.checkpoint_ns;
            if (inner == ns) return around;
            if (ns.starts_with(inner + "|")) next = task.state;
        }
        if (!next) break;
        at = SnapshotData(*next);
    }
    return {};
}

json::object stateAt(const Call& call, const ThreadRecord& thread, const Config& config, bool subgraphs) {
    const ServedGraph* const graph = call.graphOf(thread);
    if (graph == nullptr) return emptyState();
    try {
        const SnapshotData at = graph->graph->state(config, subgraphs);
        return stateJson(at, shownOf(call, thread, *graph), aroundOf(*graph, config));
    } catch (const InvalidArgumentError&) {
        if (config.checkpoint_id.empty()) throw;
        json::object unknown = emptyState();  // a checkpoint that does not exist has no state
        unknown["checkpoint"] = checkpointJson(config);
        return unknown;
    }
}

serve::HandlerAnswer getState(const Call& call) {
    const ThreadRecord thread = call.thread();
    json::object state = stateAt(call, thread, {.thread_id = thread.thread_id}, call.flag("subgraphs"));
    return answerOf(selected(std::move(state), call.parameters("select")));
}

serve::HandlerAnswer getStateAtId(const Call& call) {
    const ThreadRecord thread = call.thread();
    if (!isUuid(call.id(1))) throw InvalidRequest("Invalid checkpoint ID: must be a UUID");
    const Config config{.thread_id = thread.thread_id, .checkpoint_id = CheckpointId(call.id(1))};
    return answerOf(selected(stateAt(call, thread, config, call.flag("subgraphs")), call.parameters("select")));
}

serve::HandlerAnswer getStateAtCheckpoint(const Call& call) {
    const ThreadRecord thread = call.thread();
    const Body body = call.body();
    const Config config = readCheckpoint(body, thread.thread_id);
    return answerOf(selected(stateAt(call, thread, config, body.flag("subgraphs", false)), body.texts("select")));
}

std::vector<detail::StateEdit> editsIn(const Body& body, const ServedGraph& graph, bool is_inside) {
    const std::optional<std::string> as_node = body.text("as_node");
    const json::value* const values = body.find("values");
    if (values == nullptr) return {{.as_node = as_node.value_or(engine::edit_again)}};
    std::vector<detail::StateEdit> edits;
    const auto add = [&](const json::value& each) {
        detail::StateEdit edit{.as_node = as_node};
        // The channels of a graph inside are its own.
        edit.values = is_inside ? Value(each) : readUpdate(each, graph, "values");
        edits.push_back(std::move(edit));
    };
    if (values->is_object()) {
        add(*values);
    } else if (values->is_array()) {
        for (const json::value& each : values->get_array()) add(each);
    } else {
        body.refuse("values", "must be an object, a list of objects, or null");
    }
    return edits;
}

serve::HandlerAnswer updateState(const Call& call) {
    call.countStored();
    const ThreadRecord thread = call.thread();
    const Body body = call.body();
    const ServedGraph* const graph = call.graphOf(thread);
    if (graph == nullptr) throw ApiError(400, "Thread " + thread.thread_id + " has no graph ID");
    if (call.service().runs->isBusy(thread.thread_id)) throw ApiError(409, "Thread is busy");
    const Config config = readCheckpoint(body, thread.thread_id);
    const bool is_inside = !static_cast<const std::string&>(config.checkpoint_ns).empty();
    const Around around = aroundOf(*graph, config);
    Config made;
    for (detail::StateEdit& each : editsIn(body, *graph, is_inside)) {
        std::vector<std::vector<detail::StateEdit>> one(1);
        one.front().push_back(std::move(each));
        made = graph->graph->edit(made.checkpoint_id.empty() ? config : made, one);
    }
    call.service().records.editThread(thread.thread_id, [](ThreadRecord& changed) { changed.updated_at = now(); });
    json::value checkpoint = checkpointJson(made, around);
    if (!is_inside && checkpoint.is_object()) checkpoint.get_object().erase("checkpoint_map");
    return answerOf(json::object{{"checkpoint", std::move(checkpoint)}});
}

/// Changes the metadata of a thread, as `PATCH /threads/ID` does; clients get no body.
serve::HandlerAnswer patchState(const Call& call) {
    call.countStored();
    const Body body = call.body();
    if (!body.has("metadata")) body.refuse("metadata", "is required");
    const json::object metadata = body.object("metadata");
    const auto changed = call.service().records.editThread(call.thread().thread_id, [&](ThreadRecord& thread) {
        thread.metadata = merged(std::move(thread.metadata), metadata);
        thread.updated_at = now();
    });
    if (!changed) throw NotFound("Thread with ID " + call.id(0) + " not found");
    return noContent();
}

/// A checkpoint as clients name it: an id, or an object that has one.
CheckpointId checkpointIn(const Body& body, std::string_view name) {
    std::optional<std::string> id;
    if (const json::value* const given = body.find(name); given != nullptr && given->is_object()) {
        const std::optional<Body> object = body.body(name);
        const std::optional<Body> inner = object->body("configurable");
        id = (inner ? *inner : *object).text("checkpoint_id");
    } else {
        id = body.text(name);
    }
    if (!id) return {};
    if (!isUuid(*id)) body.refuse(name, "must be a checkpoint");
    return CheckpointId(*id);
}

serve::HandlerAnswer historyOf(const Call& call, const Body& body) {
    const ThreadRecord thread = call.thread();
    HistoryOptions options;
    options.limit = body.number("limit", 1, 1000).value_or(10);
    options.before = checkpointIn(body, "before");
    for (const auto& each : body.object("metadata"))
        options.filter.push_back({std::string(each.key()), Value(each.value())});
    Config config{.thread_id = thread.thread_id};
    CheckpointId only;  // the one that is asked for
    if (const std::optional<Body> checkpoint = body.body("checkpoint")) {
        config.checkpoint_ns = checkpoint->text("checkpoint_ns", "");
        if (!checkpoint->text("checkpoint_id", "").empty()) only = checkpointIn(body, "checkpoint");
    }
    if (only) {
        options.limit = 1;
        const CheckpointId after(only.high() + (only.low() == UINT64_MAX ? 1 : 0), only.low() + 1);
        if (!options.before || after < options.before) options.before = after;
    }
    json::array list;
    const ServedGraph* const graph = call.graphOf(thread);
    if (graph == nullptr) return answerOf(std::move(list));
    const ShownThread shown = shownOf(call, thread, *graph);
    const Around around = aroundOf(*graph, config);
    const std::vector<std::string> select = body.texts("select");
    std::size_t bytes = 0;
    graph->graph->history(config, options, [&](const SnapshotData& each) {
        if (only && each.config.checkpoint_id != only) return false;
        list.push_back(selected(stateJson(each, shown, around), select));
        bytes += each.values_as_cbor.bytes().size();
        return bytes <= values_bytes_max;
    });
    return answerOf(std::move(list));
}

serve::HandlerAnswer getHistory(const Call& call) {
    json::object parameters;
    if (const std::string limit = call.parameter("limit"); !limit.empty())
        parameters["limit"] = numberOf("limit", limit, 1, 1000);
    if (const std::string before = call.parameter("before"); !before.empty()) parameters["before"] = before;
    return historyOf(call, Body(std::move(parameters), {}));
}

serve::HandlerAnswer postHistory(const Call& call) { return historyOf(call, call.bodyIfGiven()); }

}  // namespace

std::span<const Row> stateRows() {
    static constexpr Row rows[] = {
        {"GET", "/threads/:id/state", &getState},
        {"POST", "/threads/:id/state", &updateState},
        {"PATCH", "/threads/:id/state", &patchState},
        {"POST", "/threads/:id/state/checkpoint", &getStateAtCheckpoint},
        {"GET", "/threads/:id/state/:id", &getStateAtId},
        {"GET", "/threads/:id/history", &getHistory},
        {"POST", "/threads/:id/history", &postHistory},
    };
    return rows;
}

}  // namespace stategraph::langgraph
