#include "workflow/view.hpp"

#include <algorithm>
#include <chrono>

#include "workflow/execution.hpp"
#include "workflow/inner_questions.hpp"
#include "workflow/nested_execution.hpp"
#include "workflow/questions.hpp"

namespace stategraph::workflow {
namespace {

std::optional<std::chrono::system_clock::time_point> timeOf(std::int64_t ms) {
    if (ms == 0) return {};
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(ms));
}
std::optional<Value> valueOf(const Value& value) {
    if (value.isNull()) return {};
    return value;
}
StepStatus statusOf(Word word) {
    switch (word) {
        case Word::running:
            return StepStatus::running;
        case Word::waiting:
            return StepStatus::waiting;
        case Word::suspended:
            return StepStatus::suspended;
        case Word::failed:
            return StepStatus::failed;
        default:
            return StepStatus::success;
    }
}

void show(const Place* place, const Record& record, StepView& view) {
    view.status = statusOf(record.status);
    view.payload = record.payload;
    view.output = valueOf(record.output);
    if (view.status == StepStatus::failed || !record.error.empty()) view.error = record.error;
    view.resume_payload = valueOf(record.resumed);
    view.iteration = record.iteration;
    view.attempts = record.attempts;
    view.started_at = timeOf(record.started_ms);
    for (const Asked& each : record.questions) {
        if (each.suspended_ms == 0) continue;  // time travel has brought an answer before it was asked
        view.suspensions.push_back(
            {each.payload, *timeOf(each.suspended_ms), valueOf(each.answer), timeOf(each.resumed_ms)});
    }
    view.ended_at = timeOf(record.ended_ms);
    if (view.status != StepStatus::suspended) return;
    view.suspend_payload = record.asked.isNull() ? Value(Values()) : record.asked;
    if (place == nullptr || !place->nested || record.child.isNull()) return;
    const auto open = openQuestions(*place->nested->plan, record.child.as<State>());
    if (!open.empty() && !open.front().payload.isNull()) view.suspend_payload = open.front().payload;
}

// Collects the steps of a run, with what is due below it.
class Views {
public:
    explicit Views(RunView& view) : view_(view) {}

    void add(const Plan& plan, const State& state, const std::vector<TaskSnapshot>& tasks) {
        for (const auto& [id, record] : state.records) {
            if (record.status != Word::none) addRecord(plan, state, id, record);
        }
        for (const TaskSnapshot& task : tasks) {
            if (!task.finished) addDue(plan, state, task);
        }
    }
    bool isAsleep() const noexcept { return is_asleep_; }

private:
    // A step that the definition no longer has keeps its record.
    void addRecord(const Plan& plan, const State& state, const std::string& id, const Record& record) {
        const Place* const place = plan.findPlace(id);
        StepView& view = view_.steps[place != nullptr ? place->path : plan.prefix + id];
        show(place, record, view);
        if (place == nullptr) return;
        if (plan.entryOf(*place).kind != Entry::Kind::foreach) {
            if (place->nested && !record.child.isNull()) add(*place->nested->plan, record.child.as<State>(), {});
        } else if (view.status == StepStatus::suspended) {
            view.suspend_payload.reset();
            addItems(*place, state, record, view);
        }
    }

    static void addItems(const Place& place, const State& state, const Record& record, StepView& view) {
        const auto count = record.payload.as<std::vector<Value>>().size();
        for (std::size_t i = 0; i < count; ++i) {
            auto& one = view.items.emplace_back();
            const auto item = state.items.find(static_cast<std::int64_t>(i));
            if (item != state.items.end()) show(&place, item->second, one.emplace(StepView()));
        }
    }

    void addDue(const Plan& plan, const State& state, const TaskSnapshot& task) {
        const Place* const place = plan.findPlace(task.name);
        if (place == nullptr) return;
        const Entry& entry = plan.entryOf(*place);
        if (entry.kind == Entry::Kind::foreach || entry.kind == Entry::Kind::map) return;
        const auto before = state.records.find(task.name);
        StepView& view = view_.steps[place->path];
        view = {};
        if (entry.kind == Entry::Kind::sleep) {
            is_asleep_ = true;
            view.status = StepStatus::waiting;
            view.payload = state.data;
            return;
        }
        const bool is_loop = entry.kind == Entry::Kind::dowhile || entry.kind == Entry::Kind::dountil;
        Record record;
        beginRecord(plan, before == state.records.end() ? nullptr : &before->second, state.data, is_loop, record);
        const bool asks = !task.open_interrupts.empty() && !place->nested;
        record.status = asks ? Word::suspended : Word::running;
        if (asks) record.asked = task.open_interrupts.front().value;
        show(place, record, view);
        const CallSnapshot* const call = place->nested ? newestCall(task) : nullptr;
        if (call == nullptr) return;
        const SnapshotData& inside = *call->state;
        add(*place->nested->plan, inside.values_as_cbor.as<State>(), inside.tasks);
    }

    RunView& view_;
    bool is_asleep_ = false;
};

RunStatus statusOf(const State& state, const std::vector<Interrupt>& interrupts, bool is_asleep) {
    switch (state.status) {
        case Word::success:
            return RunStatus::success;
        case Word::failed:
            return RunStatus::failed;
        case Word::canceled:
            return RunStatus::canceled;
        case Word::paused:
            return RunStatus::paused;
        default:
            break;
    }
    if (!interrupts.empty()) return RunStatus::suspended;
    return is_asleep ? RunStatus::waiting : RunStatus::running;
}

void addQuestions(const Plan& plan, const State& state, const std::vector<Interrupt>& interrupts, RunView& view) {
    std::vector<std::string> last;
    for (Question& question : openQuestions(plan, state)) {
        const auto asked = std::ranges::find(interrupts, question.key, &Interrupt::key);
        if (question.is_due && !interrupts.empty() && asked == interrupts.end()) continue;  // it has been answered
        if (asked != interrupts.end())
            view.questions.push_back({asked->id, question.key, question.payload, question.labels});
        for (const std::string& label : question.labels) view.labels[label] = {question.path.front(), question.index};
        if (question.index) question.path.resize(question.index_at);
        if (question.path == last) continue;
        last = question.path;
        view.suspended.push_back(std::move(question.path));
    }
}

}  // namespace

namespace {

RunView viewWith(const Plan& plan, const State& state, const std::vector<Interrupt>& interrupts,
                 const std::vector<TaskSnapshot>& tasks) {
    RunView view;
    Views views(view);
    views.add(plan, state, tasks);
    view.status = statusOf(state, interrupts, views.isAsleep());
    view.state = state.shared;
    view.input = state.input;
    view.context = state.context;
    view.metadata = state.metadata;
    view.path = state.path;
    view.at = state.at;
    if (view.status == RunStatus::success) view.result = state.result;
    if (view.status == RunStatus::failed) view.error = state.error;
    if (view.status != RunStatus::suspended) return view;
    addQuestions(plan, state, interrupts, view);
    for (QuestionView& question : innerQuestions(plan, tasks)) {
        view.suspended.push_back(split(question.path));
        view.questions.push_back(std::move(question));
    }
    return view;
}

}  // namespace

RunView viewOf(const Plan& plan, const State& state, const SnapshotData& at) {
    RunView view = viewWith(plan, state, at.interrupts(), at.tasks);
    const bool is_open = view.status == RunStatus::running || view.status == RunStatus::waiting;
    if (at.cancelled && is_open) view.status = RunStatus::canceled;
    view.time = at.created_at;
    view.checkpoint_id = at.config.checkpoint_id;
    return view;
}

RunView viewOf(const Plan& plan, const Result<State>& result) {
    RunView view = viewWith(plan, result.values, result.interrupts, {});
    view.checkpoint_id = result.config.checkpoint_id;
    return view;
}

}  // namespace stategraph::workflow
