#include "langgraph/run_settle.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/detail/thread_read.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/json.hpp>
#include <stategraph/snapshot.hpp>
#include <stategraph/take_back.hpp>

#include "langgraph/live_runs.hpp"
#include "langgraph/run_request.hpp"
#include "src/commands/thread_line.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

/// The runs' id in what they store with each checkpoint.
constexpr const char* run_key = "run_id";

/// If tasks have stored more than this, it is not noted with a run, and a rollback leaves what the run adds to it.
constexpr std::size_t marks_bytes_max = std::size_t{4} << 20U;

/// Whether a run made a checkpoint.
bool isOf(const SnapshotData& at, const RunRecord& run) {
    return std::ranges::any_of(static_cast<const Metadata&>(at.metadata), [&](const MetadataEntry& entry) {
        return entry.key == run_key && toJsonValue(entry.value) == json::value(run.run_id);
    });
}

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
void answerOnly(const std::vector<std::string>& open, detail::RunStart& start) {
    if (start.resume) {
        start.answers = std::vector<Answer>{{TaskId(open.front()), *std::move(start.resume)}};
        start.resume.reset();
    } else if (start.answers) {
        std::erase_if(*start.answers, [&](const Answer& each) {
            return std::ranges::find(open, each.interrupt_id.toString()) == open.end();
        });
    }
}

/// The ids of the open questions that a run answers; none if it is refused.
std::vector<std::string> questionsFor(const detail::RunStart& start, const SnapshotData& head) {
    std::vector<std::string> questions;
    for (const Interrupt& each : head.interrupts()) {
        const auto answers = [&](const Answer& answer) { return answer.interrupt_id == each.id; };
        if (start.resume || std::ranges::any_of(*start.answers, answers)) questions.push_back(each.id.toString());
    }
    if (start.resume && questions.size() > 1) questions.clear();
    return questions;
}

/// Marks of a thread as they are kept; empty if they have more than `marks_bytes_max`.
json::array toJson(const std::vector<LogMark>& marks) {
    json::array all;
    std::size_t bytes = 0;
    for (const LogMark& mark : marks) {
        json::array writes;
        for (const StoredWrite& each : mark.writes) {
            if ((bytes += each.bytes.size()) > marks_bytes_max) return {};
            writes.push_back({{"path", commands::toBase64(each.path)}, {"bytes", commands::toBase64(each.bytes)}});
        }
        all.push_back({{"ns", commands::toBase64(mark.checkpoint_ns)},
                       {"head", mark.head.toString()},
                       {"writes", std::move(writes)}});
    }
    return all;
}

std::vector<LogMark> marksOf(const json::array& kept) {
    const auto text = [](const json::value& of, const char* member) {
        return commands::fromBase64(json::value_to<std::string>(of.at(member))).value();
    };
    std::vector<LogMark> marks;
    for (const json::value& each : kept) {
        marks.push_back({text(each, "ns"), CheckpointId(json::value_to<std::string>(each.at("head"))), {}});
        for (const json::value& write : each.at("writes").as_array())
            marks.back().writes.push_back({text(write, "path"), text(write, "bytes")});
    }
    return marks;
}

/// Whether a run has an answer, and nothing else, for a question that an edit inside of its task has closed, so that it
/// is yet to be asked again. `is_left`: a process has begun the run, and died perhaps while the question was asked.
bool isEarly(const ServedGraph& graph, const ThreadId& thread, const detail::RunStart& start, const SnapshotData& head,
             bool is_left) {
    if (!start.resume || start.update || !start.go_to.empty() || !head.interrupts().empty()) return false;
    if (head.source == Source::update || head.source == Source::fork) return false;
    switch (stategraph::detail::threadStatus(*graph.graph->core(), thread)) {
        case Status::edited:
            return true;
        case Status::in_flight:
        case Status::drained:
        case Status::cancelled:
            return is_left;
        default:
            return false;
    }
}

/// An answer that is given when its question is asked again.
struct EarlyAnswer {
    detail::Work ask;
    detail::Work answer;
    CheckpointId at;                                             // where the task waits
    std::function<void(const std::vector<Interrupt>& of)> note;  // stores which question the answer is for
};

// A coroutine keeps arguments that are passed by value as long as it runs. A question that a later superstep asks is
// another one, and several are refused as if they had been open before.
Task<RunOutcome> askThenAnswer(EarlyAnswer early, RunConfig config, StreamOptions options,
                               serve::detail::TakeEvent take) {
    Task<RunOutcome> first = early.ask(config, options, take);
    RunOutcome outcome = co_await std::move(first);
    if (outcome.status != Status::interrupted || outcome.config.checkpoint_id != early.at) co_return outcome;
    if (outcome.interrupts.size() == 1) early.note(outcome.interrupts);
    Task<RunOutcome> second = early.answer(std::move(config), options, std::move(take));
    RunOutcome answered = co_await std::move(second);
    co_return answered;
}

Settled resumed(const ServedGraph& graph, RunConfig& config) {
    config.checkpoint_id = {};
    config.checkpoint_ns = {};
    return {.work = graph.graph->prepare({})};
}

}  // namespace

void takeBack(const Service& service, const ServedGraph& graph, const RunRecord& run, OnBusy on_busy) {
    if (run.before.empty() && !hasCheckpoint(graph, run)) return;  // it had not begun
    bool is_last = true;
    service.records.forEachRun(run.thread_id, [&](RunRecord&& each) {
        return is_last = each.run_id <= run.run_id || !each.hasEnded();  // those that have not ended wait for this one
    });
    (void)stategraph::takeBack(graph.saver(), run.thread_id,
                               {.metadata = Metadata{{run_key, Value(run.run_id)}},
                                .before = is_last ? marksOf(run.before) : std::vector<LogMark>(),
                                .on_busy = on_busy});
}

detail::Work noteStart(const Service& service, LiveRun& run, detail::Work work) {
    const RunRecord& asked = run.asked();
    const ServedGraph& graph = run.graph();
    const detail::RunStart start = startOf(graph, asked);
    if (start.input) return work;
    // A run that another process has left has perhaps stored something since it noted this.
    json::array before = asked.before;
    if (before.empty()) before = toJson(markThread(graph.saver(), asked.thread_id));
    std::vector<std::string> questions;
    CheckpointId early_at;
    if ((start.resume || start.answers) && !asked.kwargs.contains("checkpoint_id")) {
        const SnapshotData head = graph.graph->state({.thread_id = ThreadId(asked.thread_id)}, false);
        questions = questionsFor(start, head);
        if (isEarly(graph, ThreadId(asked.thread_id), start, head, run.isLeftOver()))
            early_at = head.config.checkpoint_id;
    }
    service.records.editOpenRun(asked.thread_id, asked.run_id, [&](RunRecord& stored) {
        stored.questions = std::move(questions);
        stored.before = before;
    });
    run.note(std::move(before));
    if (early_at.empty()) return work;
    // The service exists as long as one of its runs.
    const auto note = [&service, thread_id = asked.thread_id, run_id = asked.run_id](const std::vector<Interrupt>& of) {
        service.records.editOpenRun(thread_id, run_id, [&](RunRecord& stored) {
            stored.questions.clear();
            for (const Interrupt& each : of) stored.questions.push_back(each.id.toString());
        });
    };
    EarlyAnswer early{
        .ask = graph.graph->prepare({}), .answer = std::move(work), .at = std::move(early_at), .note = note};
    return [early = std::move(early)](RunConfig config, StreamOptions options, serve::detail::TakeEvent take) {
        return askThenAnswer(early, std::move(config), options, std::move(take));
    };
}

Settled settle(const Service& service, LiveRun& live, RunConfig& config) {
    const RunRecord& run = live.asked();
    const ServedGraph& graph = live.graph();
    if (run.is_cancelled) return {.status = "interrupted"};
    const ThreadId thread(run.thread_id);
    const SnapshotData head = graph.graph->state({.thread_id = thread}, false);
    if (!isOf(head, run)) {
        if (hasCheckpoint(graph, run)) return {.status = "success"};  // others have continued the thread since it ended
        detail::RunStart start = startOf(graph, run);
        if (run.questions.empty()) {
            return {.work = noteStart(service, live, graph.graph->prepare(std::move(start)))};
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
    std::map<std::string, std::vector<RunRecord>> by_thread;
    for (RunRecord& left : service.records.openRuns()) {
        if (!left.hasEnded() && service.graph(left.graph_id) == nullptr) {
            left.status = "error";
            service.records.store(ApiRecords::Batch().put(left));
        }
        if (!left.hasEnded()) {
            by_thread[left.thread_id].push_back(std::move(left));
        } else if (left.losesThread()) {
            removeThreadOf(service, left);
        }
    }
    for (const auto& [thread_id, left] : by_thread) service.runs->adopt(left);
}

}  // namespace stategraph::langgraph
