#include "langgraph/run_settle.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <stategraph/detail/thread_read.hpp>
#include <stategraph/json.hpp>
#include <stategraph/snapshot.hpp>

#include "langgraph/live_runs.hpp"
#include "langgraph/run_request.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

/// The run that made the newest checkpoint; empty: another caller did, or there is none.
std::string runOf(const SnapshotData& head) {
    const Metadata& metadata = head.metadata;
    const auto found = std::ranges::find(metadata, "run_id", &MetadataEntry::key);
    if (found == metadata.end()) return {};
    const json::value id = toJsonValue(found->value);
    return id.is_string() ? std::string(id.get_string()) : std::string();
}

Settled resumed(const ServedGraph& graph, RunConfig& config) {
    config.checkpoint_id = {};
    config.checkpoint_ns = {};
    return {.work = graph.graph->prepare({})};
}

}  // namespace

Settled settle(const ServedGraph& graph, const RunRecord& run, RunConfig& config) {
    if (run.is_cancelled) return {.status = "interrupted"};
    const ThreadId thread(run.thread_id);
    const SnapshotData head = graph.graph->state({.thread_id = thread}, false);
    const Status status = stategraph::detail::threadStatus(*graph.graph->core(), thread);
    const bool has_begun = runOf(head) == run.run_id;
    RunStart start = startOf(graph, run);
    // Answers are stored with the checkpoint that waits for them, before the run that they resume makes one.
    const bool has_answered = !has_begun && (start.resume || start.answers) && status == Status::in_flight;
    if (!has_begun && !has_answered) return {.work = graph.graph->prepare(std::move(start))};
    switch (status) {
        case Status::failed:
        case Status::limit:
            return {.status = "error"};
        case Status::timed_out:
            return {.status = "timeout"};
        case Status::done:
        case Status::interrupted:
        case Status::breakpoint:
        case Status::sleeping:
        case Status::edited:
            return {.status = "success"};
        default:  // in flight, drained, or stopped with its server
            return resumed(graph, config);
    }
}

void continueLeftRuns(Service& service) {
    for (RunRecord& left : service.records.openRuns()) {
        const auto graph = service.graphs.find(left.graph_id);
        if (graph == service.graphs.end()) {
            left.status = "error";
            service.records.store(ApiRecords::Batch().put(left));
            continue;
        }
        ++left.attempt;
        std::optional<serve::Identity> who;
        if (!left.owner.empty()) who = serve::Identity{.name = left.owner};
        service.runs->addLeftOver(
            std::make_shared<LiveRun>(std::move(left), graph->second, std::move(who), Work(), service));
    }
}

}  // namespace stategraph::langgraph
