#include "inspect/views.hpp"

#include <algorithm>
#include <string_view>

#include <stategraph/error.hpp>

#include "inspect/terminal.hpp"

namespace stategraph::inspect {
namespace {

// Returns a name such as "left", or "price #2" for a Send's task.
std::string nameOf(const CauseTask& task) {
    if (!task.path.starts_with("push:")) return task.name;
    const std::size_t digit = task.path.find_first_not_of('0', 5);
    return task.name + " #" + (digit == std::string::npos ? "0" : task.path.substr(digit));
}

// For a join, the sources that arrived before the last one are listed with their step.
std::string listOf(const std::vector<CauseTask>& tasks) {
    std::string text;
    const auto last = std::ranges::max_element(tasks, {}, &CauseTask::arrived);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (i > 0) text += i + 1 == tasks.size() ? " and " : ", ";
        text += nameOf(tasks[i]);
        if (tasks[i].arrived < last->arrived) {
            text += tasks[i].arrived ? " (arrived at step " + std::to_string(*tasks[i].arrived) + ")"
                                     : std::string(" (arrived earlier)");
        }
    }
    return text.empty() ? "an earlier superstep" : text;
}

std::string sentenceOf(const Cause& cause) {
    const std::string from = listOf(cause.from);
    switch (cause.kind) {
        case CauseKind::input:
            return "the run's input";
        case CauseKind::edge:
            return "the edge from " + from;
        case CauseKind::join:
            return "the join of " + from;
        case CauseKind::router:
            return "the router of " + from;
        case CauseKind::go_to:
            return "a goto of " + from;
        case CauseKind::route:
            return "a router or a goto of " + from;
        case CauseKind::send:
            return "Send " + std::to_string(cause.index.value_or(0)) + " of " + from;
        case CauseKind::released:
            return "nothing else was due: it is deferred";
        case CauseKind::command:
            return "a Command that a run was given";
        case CauseKind::edit:
            return "an edit of the state as " + from;
        case CauseKind::fork:
            return "a fork: it was due at the checkpoint before";
        case CauseKind::unknown:
            break;
    }
    return "the log does not say it; it came after " + from;
}

}  // namespace

Value valueOf(const std::string& text) {
    try {
        return parseJson(text);
    } catch (const InvalidArgumentError&) {
        return Value(text);
    }
}

std::int64_t usOf(std::chrono::system_clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

std::string isoTime(std::chrono::system_clock::time_point time) {
    std::string text = timeText(time);
    text[10] = 'T';
    return text + "Z";
}

namespace {

std::vector<WrittenView> viewsOf(const std::vector<Written>& list) {
    std::vector<WrittenView> views;
    for (const Written& each : list) {
        if (views.size() == row_items_max) break;
        views.push_back({each.channel, each.bytes});
    }
    return views;
}

std::vector<StepTaskView> viewsOf(const std::vector<StepTask>& tasks) {
    std::vector<StepTaskView> views;
    for (const StepTask& each : tasks) {
        if (views.size() == row_items_max) break;
        views.push_back(viewOf(each));
    }
    return views;
}

const char* taskStateOf(const TaskSnapshot& task) {
    return task.finished ? "done" : !task.open_interrupts.empty() ? "asks" : task.error ? "failed" : "due";
}

// A row lists the first of them, and so begins with what somebody must look at.
int dueRank(const StepTask* each) {
    const std::string_view state = taskStateOf(each->task);
    return state == "failed" ? 0 : state == "asks" ? 1 : state == "due" ? 2 : 3;
}

std::vector<StepTaskView> dueViewsOf(const std::vector<StepTask>& tasks) {
    std::vector<const StepTask*> sorted;
    for (const StepTask& each : tasks) sorted.push_back(&each);
    std::ranges::stable_sort(sorted, {}, dueRank);
    std::vector<StepTaskView> views;
    for (const StepTask* each : sorted) {
        if (views.size() == row_items_max) break;
        views.push_back(viewOf(*each));
    }
    return views;
}

}  // namespace

StepTaskView viewOf(const StepTask& step_task) {
    const TaskSnapshot& task = step_task.task;
    StepTaskView view;
    view.id = task.id.toString();
    view.name = nameOf({.name = task.name, .path = task.path});
    view.node = task.name;
    view.state = taskStateOf(task);
    if (task.took) view.took_us = task.took->count();
    if (task.started_at) view.began_at = isoTime(*task.started_at);
    view.attempts = task.attempts;
    view.error = task.error.value_or("");
    view.questions = task.interrupts.size();
    view.wrote = viewsOf(step_task.wrote);
    return view;
}

CheckpointView viewOf(const Superstep& step) {
    const TimelineEntry& entry = step.entry;
    CheckpointView view;
    view.checkpoint_id = entry.id.toString();
    if (entry.parent) view.parent = entry.parent.toString();
    view.step = entry.step;
    view.source = toString(entry.source);
    view.created_at = isoTime(entry.created_at);
    view.ran = viewsOf(step.ran);
    view.ran_count = step.ran.size();
    view.supersteps = step.supersteps;
    view.wrote = viewsOf(step.wrote);
    view.next = entry.next;
    view.due = dueViewsOf(step.due);
    view.due_count = step.due.size();
    view.open_questions = entry.open_questions;
    if (entry.took) view.took_us = entry.took->count();
    view.bytes = entry.commit_bytes + entry.writes_bytes;
    view.is_whole = entry.is_whole;
    view.is_sealed = entry.is_sealed;
    view.error = entry.error;
    view.damaged = entry.damaged;
    return view;
}

TaskCausesView viewOf(const TaskCauses& task) {
    TaskCausesView view{.task_id = task.id.toString(), .name = task.name, .path = task.path, .causes = {}};
    for (const Cause& cause : task.causes) {
        CauseView& one = view.causes.emplace_back();
        one.kind = toString(cause.kind);
        for (const CauseTask& from : cause.from) {
            one.from.push_back(nameOf(from));
            if (from.arrived) one.arrived.emplace(nameOf(from), *from.arrived);
        }
        if (cause.index) one.index = *cause.index;
        one.text = sentenceOf(cause);
    }
    return view;
}

WriterView viewOf(const ChannelHistoryEntry& entry, const std::optional<GraphDescription>& graph) {
    WriterView view{.checkpoint_id = entry.config.checkpoint_id.toString(),
                    .step = entry.step,
                    .source = toString(entry.source),
                    .change = toString(entry.change.change),
                    .value = entry.change.value,
                    .writers = {}};
    for (const ChannelWriter& writer : entry.writers)
        view.writers.push_back(nameOf({graph ? graph->shownName(writer.name) : writer.name, writer.path}));
    return view;
}

}  // namespace stategraph::inspect
