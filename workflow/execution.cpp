#include "workflow/execution.hpp"

#include <algorithm>
#include <chrono>
#include <variant>

#include <stategraph/runtime.hpp>

#include "workflow/kept_output.hpp"
#include "workflow/scope.hpp"

namespace stategraph::workflow {
namespace {

// How a step may end beside returning.
struct Suspended {
    Value payload;
    std::vector<std::string> labels;
};
struct Bailed {
    Value output;
};
// Leaves the step then; no std::exception, so that its handlers leave it alone.
struct Left {};

class Context final : public StepContext {
public:
    Context(const Plan& plan, const Place& place, const Record& record, const State& state, Runtime& runtime)
        : reducers_(*plan.reducers),
          step_(*place.step),
          record_(record),
          state_(state),
          runtime_(runtime),
          path_(place.path) {}

    const Value& input() const noexcept override { return record_.payload; }
    const Values& state() const noexcept override { return state_.shared; }
    const Value& init() const noexcept override { return state_.input; }
    const Values& requestContext() const noexcept override { return state_.context; }
    const Value* output(std::string_view step) const noexcept override { return findOutput(state_, step); }
    std::int64_t iteration() const noexcept override { return record_.iteration; }

    const std::string& path() const noexcept override { return path_; }
    Runtime& runtime() noexcept override { return runtime_; }
    int attempt() const noexcept override { return runtime_.attempt(); }
    const Value* resumeData() const noexcept override { return record_.pending.isNull() ? nullptr : &record_.pending; }
    const Value* suspendData() const noexcept override { return record_.pending.isNull() ? nullptr : &record_.asked; }

    void suspend(Value payload, std::vector<std::string> labels) override {
        if (step_.suspend && !payload.isNull()) payload = step_.suspend(std::move(payload));
        ending_ = Suspended{std::move(payload), std::move(labels)};
        throw Left();
    }
    void bail(Value output) override {
        ending_ = Bailed{std::move(output)};
        throw Left();
    }
    void setState(Values values) override {
        if (step_.state) values = step_.state(Value(values)).as<Values>();
        for (auto& [key, value] : values) {
            if (reducers_.contains(key)) {
                additions_.push_back({key, std::move(value)});
            } else {
                shared_.insert_or_assign(key, std::move(value));
            }
        }
    }
    void write(Value value) override {
        if (isWatched(runtime_))
            tell(runtime_, {.kind = RunEvent::Kind::step_output, .path = path_, .value = std::move(value)});
    }
    void cancel() override { is_canceled_ = true; }

    /// Completes the record of an execution that has asked or bailed, also if it has caught what it should have left through.
    bool takeEnding(Record& record) {
        if (auto* const suspended = std::get_if<Suspended>(&ending_)) {
            record.status = Word::suspended;
            record.asked = std::move(suspended->payload);
            record.labels = std::move(suspended->labels);
        } else if (auto* const bailed = std::get_if<Bailed>(&ending_)) {
            record.status = Word::bailed;
            record.output = std::move(bailed->output);
        }
        return ending_.index() > 0;
    }
    Values takeShared() { return std::move(shared_); }
    Additions takeAdditions() { return std::move(additions_); }
    bool isCanceled() const noexcept { return is_canceled_; }
    bool hasEffects() const noexcept { return is_canceled_ || !shared_.empty() || !additions_.empty(); }

private:
    const std::map<std::string, Reduce>& reducers_;
    const Step& step_;
    const Record& record_;
    const State& state_;
    Runtime& runtime_;
    const std::string& path_;
    Values shared_;
    Additions additions_;
    bool is_canceled_ = false;
    std::variant<std::monostate, Suspended, Bailed> ending_;
};

// A step of a function, once.
Executed executeFunction(const Plan& plan, const Place& place, Record& record, const State& state, Runtime& runtime) {
    const Step& step = *place.step;
    Executed executed;
    record.attempts = runtime.attempt();
    try {
        if (step.input) record.payload = step.input(std::move(record.payload));
        Context context(plan, place, record, state, runtime);
        try {
            const bool may_keep = record.pending.isNull();
            auto kept = may_keep ? keptOutput(plan, place, record.payload) : std::nullopt;
            Value output = kept ? std::move(*kept) : step.execute(record.payload, context);
            if (!context.takeEnding(record)) {
                record.status = Word::success;
                record.output = std::move(output);
                if (may_keep && !kept && !context.hasEffects()) keepOutput(plan, place, record.payload, record.output);
            }
        } catch (const Left&) {
            context.takeEnding(record);
        }
        executed.shared = context.takeShared();
        executed.additions = context.takeAdditions();
        executed.is_canceled = context.isCanceled();
    } catch (const PermanentError& error) {
        record.status = Word::failed;
        record.error = error.what();
        record.is_permanent = true;
    }
    return executed;
}

bool hasPermanentFailure(const State& state) {
    return std::ranges::any_of(state.records, [](const auto& each) { return each.second.is_permanent; });
}

State beginningInside(const Record& record, const State& outer, bool goes_on) {
    State state;
    if (goes_on) {
        state = record.child.as<State>();
        state.status = Word::none;
        state.error.clear();
        state.goes_on = true;
        state.reduced.clear();  // the workflow around it has them
        state.answers = record.answers;
    } else {
        state.input = record.payload;
        state.data = record.payload;
    }
    state.shared = outer.shared;
    state.context = outer.context;
    return state;
}

void takeInside(State&& inner, Record& record) {
    record.status = inner.status == Word::canceled ? Word::success : inner.status;
    record.is_permanent = record.status == Word::failed && hasPermanentFailure(inner);
    record.error = inner.error;
    record.output = record.status == Word::success ? inner.result : Value();
    record.child = Value(inner);
}

// What a workflow inside has changed: a copy of all would undo what its siblings have set meanwhile.
Values changesOf(const Plan& plan, const Values& before, Values after) {
    std::erase_if(after, [&](const auto& each) {
        if (plan.reducers->contains(each.first)) return true;  // they are among the additions
        const auto found = before.find(each.first);
        return found != before.end() && found->second == each.second;
    });
    return after;
}

// A workflow, with all its attempts: each begins anew.
Executed executeNested(const Plan& plan, const Place& place, Record& record, const State& state, Runtime& runtime) {
    const Nested& nested = *place.nested;
    const RetryPolicy retry = plan.retryOf(*place.step);
    Executed executed;
    State outer;
    outer.shared = state.shared;
    outer.context = state.context;
    bool goes_on = record.status == Word::running && !record.child.isNull();
    for (int attempt = 1;; ++attempt) {
        record.attempts = attempt;
        const State begin = beginningInside(record, outer, goes_on);
        Update<State> input = goes_on ? updateOf(begin) : beginningOf(begin);
        State inner = runtime.invoke(nested.graph, std::move(input), "attempt " + std::to_string(attempt));
        goes_on = false;
        outer.shared = inner.shared;
        executed.additions.insert(executed.additions.end(), inner.reduced.begin(), inner.reduced.end());
        executed.is_canceled = executed.is_canceled || inner.is_canceled;
        takeInside(std::move(inner), record);
        if (record.status != Word::failed || record.is_permanent || attempt >= retry.max_attempts) break;
        if (retry.initial_interval.count() > 0) {
            runtime.waitFor(std::chrono::duration_cast<std::chrono::milliseconds>(retry.initial_interval));
        }
    }
    executed.shared = changesOf(plan, state.shared, std::move(outer.shared));
    return executed;
}

}  // namespace

void beginRecord(const Plan& plan, const Record* before, const Value& input, bool is_loop, Record& record) {
    const bool has_run = before != nullptr && before->status != Word::none;
    const bool goes_on = has_run && before->status == Word::running;
    record.payload = goes_on ? before->payload : input;
    record.started_ms = goes_on ? before->started_ms : plan.nowMs();
    if (goes_on) {
        record.status = Word::running;
        record.child = before->child;
        record.asked = before->asked;
        record.answers = before->answers;
        record.questions = before->questions;
    }
    if (is_loop) record.iteration = goes_on ? before->iteration : has_run ? before->iteration + 1 : 1;
    if (goes_on || record.iteration > 1) record.resumed = before->resumed;
    if (before != nullptr && (goes_on || !has_run)) record.pending = before->pending;
    if (!record.pending.isNull()) record.resumed = record.pending;
}

Executed execute(const Plan& plan, const Place& place, Record& record, const State& state, Runtime& runtime) {
    const bool is_workflow = place.nested != nullptr;
    Executed executed = is_workflow ? executeNested(plan, place, record, state, runtime)
                                    : executeFunction(plan, place, record, state, runtime);
    record.pending = {};
    record.answers.clear();
    if (record.status == Word::suspended) {
        if (!is_workflow) record.questions.push_back({.payload = record.asked, .suspended_ms = plan.nowMs()});
    } else {
        record.asked = {};
        record.labels.clear();
        record.ended_ms = plan.nowMs();
    }
    if (record.status == Word::failed && !is_workflow) {
        executed.shared.clear();
        executed.additions.clear();
    }
    return executed;
}

void fail(const Plan& plan, Record& record, const NodeFailure& failure) {
    record.status = Word::failed;
    record.error = failure.error;
    record.attempts = failure.attempts;
    record.pending = {};
    record.answers.clear();
    record.asked = {};
    record.labels.clear();
    record.ended_ms = plan.nowMs();
}

}  // namespace stategraph::workflow
