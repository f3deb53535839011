#include "langgraph/run_settle.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/detail/thread_read.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/json.hpp>
#include <stategraph/snapshot.hpp>

#include "langgraph/live_runs.hpp"
#include "langgraph/run_request.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

/// The runs' id in what they store with each checkpoint.
constexpr const char* run_key = "run_id";

bool hasCheckpoint(const ServedGraph& graph, const RunRecord& run) {
    const HistoryOptions options{.limit = 1, .filter = Metadata{{run_key, Value(run.run_id)}}, .values = false};
    bool is_found = false;
    graph.graph->history({.thread_id = ThreadId(run.thread_id)}, options, [&](const SnapshotData&) {
        is_found = true;
        return false;
    });
    return is_found;
}

/// Those of some questions that wait for an answer.
std::vector<std::string> openOf(const std::vector<std::string>& asked, const SnapshotData& head) {
    std::vector<std::string> open;
    for (const Interrupt& each : head.interrupts()) {
        std::string id = each.id.toString();
        if (std::ranges::find(asked, id) != asked.end()) open.push_back(std::move(id));
    }
    return open;
}

/// Limits answers to some questions.
void answerOnly(const std::vector<std::string>& open, RunStart& start) {
    if (start.resume) {
        start.answers = std::vector<Answer>{{TaskId(open.front()), *std::move(start.resume)}};
        start.resume.reset();
    } else if (start.answers) {
        std::erase_if(*start.answers, [&](const Answer& each) {
            return std::ranges::find(open, each.interrupt_id.toString()) == open.end();
        });
    }
}

Settled resumed(const ServedGraph& graph, RunConfig& config) {
    config.checkpoint_id = {};
    config.checkpoint_ns = {};
    return {.work = graph.graph->prepare({})};
}

}  // namespace

bool isOf(const SnapshotData& at, const RunRecord& run) {
    return std::ranges::any_of(static_cast<const Metadata&>(at.metadata), [&](const MetadataEntry& entry) {
        return entry.key == run_key && toJsonValue(entry.value) == json::value(run.run_id);
    });
}

void noteQuestions(const Service& service, const ServedGraph& graph, const RunRecord& run) {
    if (!run.kwargs.contains("command") || run.kwargs.contains("checkpoint_id")) return;
    const RunStart start = startOf(graph, run);
    if (!start.resume && !start.answers) return;
    const SnapshotData head = graph.graph->state({.thread_id = ThreadId(run.thread_id)}, false);
    std::vector<std::string> questions;
    for (const Interrupt& each : head.interrupts()) {
        const auto answers = [&](const Answer& answer) { return answer.interrupt_id == each.id; };
        if (start.resume || std::ranges::any_of(*start.answers, answers)) questions.push_back(each.id.toString());
    }
    if (questions.empty() || (start.resume && questions.size() > 1)) return;  // the run is refused
    service.records.editOpenRun(run.thread_id, run.run_id,
                                [&](RunRecord& stored) { stored.questions = std::move(questions); });
}

Settled settle(const Service& service, const ServedGraph& graph, const RunRecord& run, RunConfig& config) {
    if (run.is_cancelled) return {.status = "interrupted"};
    const ThreadId thread(run.thread_id);
    const SnapshotData head = graph.graph->state({.thread_id = thread}, false);
    if (!isOf(head, run)) {
        if (hasCheckpoint(graph, run)) return {.status = "success"};  // others have continued the thread since it ended
        RunStart start = startOf(graph, run);
        if (run.questions.empty()) {
            noteQuestions(service, graph, run);
            return {.work = graph.graph->prepare(std::move(start))};
        }
        // Answers are stored with the checkpoint that waits for them, before the run that they resume makes one.
        if (const std::vector<std::string> open = openOf(run.questions, head); !open.empty()) {
            answerOnly(open, start);
            return {.work = graph.graph->prepare(std::move(start))};
        }
    }
    switch (stategraph::detail::threadStatus(*graph.graph->core(), thread)) {
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
        if (!left.hasEnded() && graph == service.graphs.end()) {
            left.status = "error";
            service.records.store(ApiRecords::Batch().put(left));
        }
        if (left.hasEnded()) {
            if (left.losesThread()) removeThreadOf(service, left);
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
