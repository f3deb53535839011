#include "workflow/nested_execution.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <stategraph/detail/call_failure.hpp>
#include <stategraph/retry.hpp>
#include <stategraph/runtime.hpp>

#include "workflow/questions.hpp"
#include "workflow/reducing.hpp"
#include "workflow/request_context.hpp"

namespace stategraph::workflow {
namespace {

// Whether the record has nothing but an answer that time travel brought for a step that was not reached. Those of a
// travel are kept until its run has asked, and is resumed.
bool isUnreached(const std::pair<const std::string, Record>& each) noexcept { return each.second.status == Word::none; }

// Returns records with the answers that time travel has brought for steps inside, by the keys of their questions.
std::map<std::string, Record> answersInside(const Values& answers) {
    std::map<std::string, Record> records;
    for (const auto& [key, answer] : answers) {
        const std::size_t end = key.find_first_of(".[");
        const std::size_t dot = key.find('.');
        Record& record = records[key.substr(0, end)];
        record.pending = answer;
        if (dot != std::string::npos) record.answers.emplace(key.substr(dot + 1), answer);
    }
    return records;
}

State beginningInside(const Record& record, const State& outer, bool goes_on) {
    State state;
    if (goes_on) {
        state = record.child.as<State>();
        state.status = Word::none;
        state.error.clear();
        state.goes_on = true;
        state.reduced.clear();  // the outer workflow has them
        state.set_keys.clear();
        state.answers = record.answers;
        if (!state.answers.empty()) std::erase_if(state.records, isUnreached);
    } else {
        state.input = record.payload;
        state.data = record.payload;
    }
    state.shared = outer.shared;
    state.context = outer.context;
    return state;
}

// Checks what a workflow begins with inside another one. Returns whether it may begin; otherwise the step has failed.
bool checkBeginning(const Step& step, Record& record, State& outer) {
    const Definition& inner = *step.workflow;
    try {
        if (step.context) (void)step.context(Value(outer.context));
        if (inner.context) outer.context = checkedContext(inner, std::move(outer.context));
        if (step.input) record.payload = step.input(std::move(record.payload));
        if (inner.input) record.payload = inner.input(std::move(record.payload));
        return true;
    } catch (const std::exception& error) {
        record.status = Word::failed;
        record.error = error.what();
        return false;
    }
}

void takeInside(const Plan& inner_plan, State&& inner, Record& record) {
    record.status = inner.status == Word::canceled ? Word::success : inner.status;
    record.is_permanent = record.status == Word::failed && hasPermanentFailure(inner_plan, inner);
    record.error = inner.error;
    record.output = record.status == Word::success ? inner.result : Value();
    record.child = Value(inner);
}

void checkOutput(const Step& step, Record& record) {
    if (!step.output || record.status != Word::success) return;
    try {
        record.output = step.output(std::move(record.output));
    } catch (const std::exception& error) {
        record.status = Word::failed;
        record.error = error.what();
        record.output = {};
    }
}

// Returns the error of an inner workflow. It has only the text if it happened in another process, or does not belong to
// a step.
std::exception_ptr failureOf(const Session& session, const Plan& plan, const State& state) {
    for (const auto& [id, record] : state.records) {
        const Place* const place = record.status == Word::failed ? plan.findPlace(id) : nullptr;
        if (place == nullptr || record.error != state.error) continue;
        if (place->nested && !record.child.isNull())
            return failureOf(session, *place->nested->plan, record.child.as<State>());
        if (auto failure = session.failureOf(place->path, record.error)) return failure;
    }
    return std::make_exception_ptr(std::runtime_error(state.error));
}

// Returns whether another attempt follows the one that has failed, and waits as long as the policy says. The decision
// is made once: a process that resumes the run decides the same, and does not wait again.
bool triesAgain(const RetryPolicy& retry, const Plan& inner_plan, const Record& record, int attempt, Runtime& runtime) {
    if (record.is_permanent || (retry.otherwise.empty() && attempt >= retry.max_attempts)) return false;
    const auto decide = [&] {
        const auto failure = failureOf(runtime.context<Session>(), inner_plan, record.child.as<State>());
        const RetryPolicy* const policy = policyAfter(retry, failure, attempt);
        if (policy == nullptr) return false;
        const auto wait = std::chrono::ceil<std::chrono::milliseconds>(retryWait(*policy, attempt));
        if (wait > wait.zero()) runtime.waitFor(wait);
        return true;
    };
    return stategraph::detail::markingFailures(
        [&] { return runtime.once("retry " + std::to_string(attempt), decide); });
}

// Returns the key of the call of the inner workflow.
std::string callOf(int attempt) { return "attempt " + std::to_string(attempt); }

// Runs the inner workflow. If it was left at a step that its definition no longer has, the call is refused and the run
// has not failed: with the former definition it can be continued.
State runInside(const Nested& nested, const State& begin, Update<State> input, int attempt, Runtime& runtime) {
    const std::vector<Entry>& entries = nested.plan->definition.entries;
    if (begin.goes_on && dueEntryOf(*nested.plan, begin, !begin.answers.empty()) >= entries.size()) {
        const InvalidArgumentError error("the workflow '" + nested.plan->definition.id + "' was left at entry " +
                                         std::to_string(begin.at) + ", and it has only " +
                                         std::to_string(entries.size()) + " entries now");
        throw stategraph::detail::CallFailure<InvalidArgumentError>(error);
    }
    return stategraph::detail::markingRefusals(
        [&] { return runtime.invoke(nested.graph, std::move(input), callOf(attempt)); });
}

// Returns null for what is not a step: a join, an end of a foreach.
const Nested* nestedOf(const Plan& plan, std::string_view node) {
    const std::string element = itemNodeOf("");
    if (node.ends_with(element)) node.remove_suffix(element.size());
    return plan.findNested(node);
}

}  // namespace

const CallSnapshot* newestCall(const TaskSnapshot& task) noexcept {
    const auto newest = std::ranges::max_element(task.calls, [](const CallSnapshot& a, const CallSnapshot& b) {
        return std::pair(a.key.size(), std::string_view(a.key)) < std::pair(b.key.size(), std::string_view(b.key));
    });
    return newest == task.calls.end() || !newest->state ? nullptr : &*newest;
}

std::string firstLogOf(const Plan& plan, const SnapshotData& at) {
    for (const TaskSnapshot& task : at.tasks) {
        const Nested* const nested = task.finished ? nullptr : nestedOf(plan, task.name);
        if (nested == nullptr) continue;
        if (const CallSnapshot* const call = newestCall(task)) {
            const SnapshotData& inside = *call->state;
            const std::string first = firstLogOf(*nested->plan, inside);
            return first.empty() ? inside.config.checkpoint_ns : first;
        }
        const std::string log = task.name + ":" + task.id.toString() + ":" + callOf(1);
        return at.config.checkpoint_ns.empty() ? log : at.config.checkpoint_ns + "|" + log;
    }
    return {};
}

Executed executeNested(const Plan& plan, const Place& place, Record& record, const State& state, Runtime& runtime) {
    const Nested& nested = *place.nested;
    const RetryPolicy retry = plan.retryOf(*place.step);
    Executed executed;
    std::set<std::string> set_keys;
    State outer;
    outer.shared = state.shared;
    outer.context = state.context;
    if (plan.is_root) runtime.context<Session>().noteInside(runtime.checkpointId());
    bool goes_on = record.status == Word::running && !record.child.isNull();
    if (!goes_on && !checkBeginning(*place.step, record, outer)) return executed;
    for (int attempt = 1;; ++attempt) {
        record.attempts = attempt;
        const State begin = beginningInside(record, outer, goes_on);
        Update<State> input = goes_on ? updateOf(begin) : beginningOf(begin);
        if (!goes_on && attempt == 1 && !record.answers.empty())
            input.with(merge(&State::records, answersInside(record.answers)));
        State inner = runInside(nested, begin, std::move(input), attempt, runtime);
        goes_on = false;
        outer.shared = inner.shared;
        for (const auto& [key, is_set] : inner.set_keys) set_keys.insert(key);
        executed.additions.insert(executed.additions.end(), inner.reduced.begin(), inner.reduced.end());
        executed.is_canceled = executed.is_canceled || inner.is_canceled;
        takeInside(*nested.plan, std::move(inner), record);
        if (!executed.is_canceled) checkOutput(*place.step, record);
        if (record.status != Word::failed || !triesAgain(retry, *nested.plan, record, attempt, runtime)) break;
    }
    executed.shared = changesOf(plan, state.shared, std::move(outer.shared), set_keys);
    return executed;
}

}  // namespace stategraph::workflow
