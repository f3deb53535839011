#include "workflow/view.hpp"

#include <algorithm>
#include <chrono>

#include "workflow/execution.hpp"
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
StepStatus statusOf(const std::string& word) {
    if (word == word::RUNNING) return StepStatus::running;
    if (word == word::WAITING) return StepStatus::waiting;
    if (word == word::SUSPENDED) return StepStatus::suspended;
    return word == word::FAILED ? StepStatus::failed : StepStatus::success;
}

StepView viewOf(const Plan& plan, const Step* step, const Record& record) {
    StepView view{.status = statusOf(record.status), .payload = record.payload};
    view.output = valueOf(record.output);
    if (view.status == StepStatus::failed || !record.error.empty()) view.error = record.error;
    view.resume_payload = valueOf(record.resumed);
    view.iteration = record.iteration;
    view.attempts = record.attempts;
    view.started_at = timeOf(record.started_ms);
    for (const Asked& each : record.questions) {
        view.suspensions.push_back(
            {each.payload, *timeOf(each.suspended_ms), valueOf(each.answer), timeOf(each.resumed_ms)});
    }
    view.ended_at = timeOf(record.ended_ms);
    if (view.status != StepStatus::suspended) return view;
    view.suspend_payload = record.asked.isNull() ? Value(Values()) : record.asked;
    const Nested* const nested = step != nullptr ? plan.findNested(step->id) : nullptr;
    if (nested == nullptr || record.child.isNull()) return view;
    const auto open = openQuestions(*nested->plan, record.child.as<State>());
    if (!open.empty() && !open.front().payload.isNull()) view.suspend_payload = open.front().payload;
    return view;
}

// What a run has, with what is due below it.
class Views {
public:
    explicit Views(RunView& view) : view_(view) {}

    void add(const Plan& plan, const State& state, const std::vector<TaskSnapshot>& tasks) {
        for (const auto& [id, record] : state.records) {
            if (!record.status.empty()) addRecord(plan, state, id, record);
        }
        for (const TaskSnapshot& task : tasks) {
            if (!task.finished) addDue(plan, state, task);
        }
    }
    bool isAsleep() const noexcept { return is_asleep_; }

private:
    void addRecord(const Plan& plan, const State& state, const std::string& id, const Record& record) {
        const Step* const step = plan.findStep(id);
        StepView& view = view_.steps[pathOf(plan, id)] = viewOf(plan, step, record);
        const auto place = plan.places.find(id);
        const bool is_foreach =
            place != plan.places.end() && plan.definition.entries[place->second].kind == Entry::Kind::foreach;
        if (!is_foreach) {
            const Nested* const nested = plan.findNested(id);
            if (nested != nullptr && !record.child.isNull()) add(*nested->plan, record.child.as<State>(), {});
        } else if (view.status == StepStatus::suspended) {
            view.suspend_payload.reset();
            addItems(plan, step, state, record, view);
        }
    }

    static void addItems(const Plan& plan, const Step* step, const State& state, const Record& record, StepView& view) {
        const auto count = record.payload.as<std::vector<Value>>().size();
        for (std::size_t i = 0; i < count; ++i) {
            const auto item = state.items.find(std::to_string(i));
            if (item == state.items.end()) {
                view.items.emplace_back();
            } else {
                view.items.emplace_back(viewOf(plan, step, item->second));
            }
        }
    }

    void addDue(const Plan& plan, const State& state, const TaskSnapshot& task) {
        const auto place = plan.places.find(task.name);
        if (place == plan.places.end()) return;
        const Entry& entry = plan.definition.entries[place->second];
        if (entry.kind == Entry::Kind::foreach || entry.kind == Entry::Kind::map) return;
        const auto before = state.records.find(task.name);
        StepView& view = view_.steps[pathOf(plan, task.name)];
        if (entry.kind == Entry::Kind::sleep) {
            is_asleep_ = true;
            view = {.status = StepStatus::waiting, .payload = state.data};
            return;
        }
        const bool is_loop = entry.kind == Entry::Kind::dowhile || entry.kind == Entry::Kind::dountil;
        Record record =
            beginRecord(plan, before == state.records.end() ? nullptr : &before->second, state.data, is_loop);
        record.status = word::RUNNING;
        view = viewOf(plan, plan.findStep(task.name), record);
        const Nested* const nested = plan.findNested(task.name);
        if (nested == nullptr || task.calls.empty()) return;
        const SnapshotData& inside = *task.calls.back().state;
        add(*nested->plan, inside.values_as_cbor.as<State>(), inside.tasks);
    }

    RunView& view_;
    bool is_asleep_ = false;
};

RunStatus statusOf(const State& state, const std::vector<Interrupt>& interrupts, bool is_asleep) {
    for (const RunStatus status : {RunStatus::success, RunStatus::failed, RunStatus::canceled, RunStatus::paused}) {
        if (state.status == toString(status)) return status;
    }
    if (!interrupts.empty()) return RunStatus::suspended;
    return is_asleep ? RunStatus::waiting : RunStatus::running;
}

void addQuestions(const Plan& plan, const State& state, const std::vector<Interrupt>& interrupts, RunView& view) {
    std::vector<std::string> last;
    for (Question& question : openQuestions(plan, state)) {
        const auto asked = std::ranges::find(interrupts, question.key, &Interrupt::key);
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
    view.path = state.path;
    view.at = state.at;
    if (view.status == RunStatus::success) view.result = state.result;
    if (view.status == RunStatus::failed) view.error = state.error;
    if (view.status == RunStatus::suspended) addQuestions(plan, state, interrupts, view);
    return view;
}

}  // namespace

RunView viewOf(const Plan& plan, const State& state, const SnapshotData& at) {
    RunView view = viewWith(plan, state, at.interrupts(), at.tasks);
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
