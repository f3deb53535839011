#include "workflow/execution.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <variant>

#include <stategraph/retry.hpp>
#include <stategraph/runtime.hpp>

#include "workflow/kept_output.hpp"
#include "workflow/nested_execution.hpp"
#include "workflow/scope.hpp"

namespace stategraph::workflow {
namespace {

// The ways in which a step may end other than by returning.
struct Suspended {
    Value payload;
    std::vector<std::string> labels;
    std::int64_t place = 0;
};
struct Bailed {
    Value output;
};
using detail::StepLeft;

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
    const Value* resumeData() const noexcept override {
        if (record_.pending.isNull()) return nullptr;
        has_read_ = true;
        return &record_.pending;
    }
    const Value* suspendData() const noexcept override { return record_.pending.isNull() ? nullptr : &record_.asked; }

    void suspend(Value payload, std::vector<std::string> labels) override {
        noteQuestion(std::move(payload), std::move(labels));
        throw StepLeft();
    }
    void bail(Value output) override {
        ending_ = Bailed{std::move(output)};
        throw StepLeft();
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

    /// Completes the record of an execution that has asked or bailed, even if the step has caught the exception that
    /// should have ended it.
    bool takeEnding(Record& record) {
        if (auto* const suspended = std::get_if<Suspended>(&ending_)) {
            record.status = Word::suspended;
            record.asked = std::move(suspended->payload);
            record.labels = std::move(suspended->labels);
            record.questions.push_back({.payload = record.asked, .place = suspended->place});
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
    Value checkedQuestion(Value payload) const {
        return step_.suspend && !payload.isNull() ? step_.suspend(std::move(payload)) : payload;
    }
    void noteQuestion(Value payload, std::vector<std::string> labels) override {
        ending_ = Suspended{checkedQuestion(std::move(payload)), std::move(labels), place_};
    }
    bool hasAnswers() const noexcept override { return !record_.pending.isNull(); }
    // The answer is that of the question at the same place. A step that has read the last answer may have passed by the
    // question that it belongs to; then only an equal question has it.
    const Value* takeAnswer(Value question) override {
        std::int64_t places = 0;
        for (const Asked& each : record_.questions) places = std::max(places, each.place + 1);
        const Value checked = has_read_ ? checkedQuestion(std::move(question)) : Value();
        for (place_ = next_place_; place_ < places; ++place_) {
            const Value* const answer = answerAt(place_, has_read_ ? &checked : nullptr);
            if (answer == nullptr) continue;
            next_place_ = place_ + 1;
            return answer;
        }
        return nullptr;
    }
    // Returns the last answer at a place, if `question`, unless it is null, was asked there. An answer that time travel
    // has brought may be without its question.
    const Value* answerAt(std::int64_t place, const Value* question) const noexcept {
        const Value* answer = nullptr;
        bool was_asked = question == nullptr;
        for (const Asked& each : record_.questions) {
            if (each.place != place) continue;
            was_asked = was_asked || each.payload.isNull() || each.payload == *question;
            if (each.resumed_ms != 0) answer = &each.answer;
        }
        return was_asked ? answer : nullptr;
    }

    const std::map<std::string, Reduce>& reducers_;
    const Step& step_;
    const Record& record_;
    const State& state_;
    Runtime& runtime_;
    const std::string& path_;
    Values shared_;
    Additions additions_;
    bool is_canceled_ = false;
    mutable bool has_read_ = false;  // the step has read the last answer
    std::int64_t place_ = 0;         // of a question that is asked now, among those of the execution
    std::int64_t next_place_ = 0;    // of the next question that may have an answer
    std::variant<std::monostate, Suspended, Bailed> ending_;
};

// One execution of a step that is a function or a coroutine: the work before and after the call.
class Calling {
public:
    Calling(const Plan& plan, const Place& place, Record& record, const State& state, Runtime& runtime)
        : plan_(plan),
          place_(place),
          record_(record),
          context_(plan, place, record, state, runtime),
          may_keep_(record.pending.isNull()) {}

    Context& context() noexcept { return context_; }
    /// Returns an output that an earlier execution has left in the cache.
    std::optional<Value> kept() {
        auto kept = may_keep_ ? keptOutput(plan_, place_, record_.payload) : std::nullopt;
        may_keep_ = may_keep_ && !kept;
        return kept;
    }
    void returned(Value output) {
        if (context_.takeEnding(record_)) return;
        if (place_.step->output) output = place_.step->output(std::move(output));
        record_.status = Word::success;
        record_.output = std::move(output);
        if (may_keep_ && !context_.hasEffects()) keepOutput(plan_, place_, record_.payload, record_.output);
    }
    void left() { context_.takeEnding(record_); }
    Executed end() {
        Executed executed;
        executed.shared = context_.takeShared();
        executed.additions = context_.takeAdditions();
        executed.is_canceled = context_.isCanceled();
        return executed;
    }

private:
    const Plan& plan_;
    const Place& place_;
    Record& record_;
    Context context_;
    bool may_keep_;
};

void beginCall(const Step& step, Record& record, const State& state, const Runtime& runtime) {
    record.attempts = runtime.attempt();
    if (step.context) (void)step.context(Value(state.context));
    if (step.input) record.payload = step.input(std::move(record.payload));
}

void failForGood(Record& record, const PermanentError& error) {
    record.status = Word::failed;
    record.error = error.what();
    record.is_permanent = true;
}

// Notes the exception that is being handled.
void noteFailure(const Plan& plan, const Place& place, Runtime& runtime) noexcept {
    if (!plan.is_root) runtime.context<Session>().noteFailure(place.path);
}

Executed executeFunction(const Plan& plan, const Place& place, Record& record, const State& state, Runtime& runtime) {
    Executed executed;
    try {
        beginCall(*place.step, record, state, runtime);
        Calling calling(plan, place, record, state, runtime);
        auto kept = calling.kept();
        try {
            calling.returned(kept ? std::move(*kept) : place.step->execute(record.payload, calling.context()));
        } catch (const StepLeft&) {
            calling.left();
        }
        executed = calling.end();
    } catch (const PermanentError& error) {
        failForGood(record, error);
    } catch (...) {
        noteFailure(plan, place, runtime);
        throw;
    }
    return executed;
}

Task<Executed> awaitFunction(const Plan& plan, const Place& place, Record& record, const State& state,
                             Runtime& runtime) {
    Executed executed;
    try {
        beginCall(*place.step, record, state, runtime);
        Calling calling(plan, place, record, state, runtime);
        try {
            auto kept = calling.kept();
            if (!kept) {
                Task<Value> task = place.step->execute_async(record.payload, calling.context());
                kept = co_await std::move(task);
            }
            calling.returned(std::move(*kept));
        } catch (const StepLeft&) {
            calling.left();
        }
        executed = calling.end();
    } catch (const PermanentError& error) {
        failForGood(record, error);
    } catch (...) {
        noteFailure(plan, place, runtime);
        throw;
    }
    co_return executed;
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
    if (before != nullptr && !has_run) {
        record.answers = before->answers;
        record.questions = before->questions;
    }
    if (record.pending.isNull()) return;
    record.resumed = record.pending;
    const bool is_own = record.answers.empty();  // otherwise it is for steps inside
    if (is_own && record.questions.empty())
        record.questions.push_back({.answer = record.pending, .resumed_ms = record.started_ms});
}

namespace {

// Completes what is the same for every step that has ended or asked.
void complete(const Plan& plan, const Place& place, Record& record, Executed& executed) {
    const bool is_workflow = place.nested != nullptr;
    record.pending = {};
    record.answers.clear();
    if (record.status == Word::suspended) {
        if (!is_workflow) record.questions.back().suspended_ms = plan.nowMs();
    } else {
        record.asked = {};
        record.labels.clear();
        record.ended_ms = plan.nowMs();
    }
    if (record.status == Word::failed && !is_workflow) {
        executed.shared.clear();
        executed.additions.clear();
    }
}

}  // namespace

Executed execute(const Plan& plan, const Place& place, Record& record, const State& state, Runtime& runtime) {
    Executed executed = place.nested != nullptr ? executeNested(plan, place, record, state, runtime)
                                                : executeFunction(plan, place, record, state, runtime);
    complete(plan, place, record, executed);
    return executed;
}

Task<Executed> awaitExecution(const Plan& plan, const Place& place, Record& record, const State& state,
                              Runtime& runtime) {
    Executed executed = co_await awaitFunction(plan, place, record, state, runtime);
    complete(plan, place, record, executed);
    co_return executed;
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
