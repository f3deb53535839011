#include <algorithm>
#include <chrono>
#include <cmath>
#include <tuple>

#include <stategraph/detail/call_failure.hpp>
#include <stategraph/error.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "workflow/execution.hpp"
#include "workflow/reducing.hpp"
#include "workflow/scope.hpp"

// The nodes that decide and compute between steps: joins of blocks, conditions, maps and sleeps. An exception of their
// functions fails the run and is not retried.
namespace stategraph::workflow {
namespace {

const std::vector<std::string>& membersOf(const Entry& entry, const State& state, std::vector<std::string>& all) {
    if (entry.kind == Entry::Kind::branch) return state.chosen;
    all = idsOf(entry);
    return all;
}

// The current time, the wake time (0 means no sleep), and why that could not be computed.
using WakeTime = std::tuple<std::int64_t, std::int64_t, std::string>;

WakeTime wakeTimeOf(const Plan& plan, const Place& place, const State& state, Runtime& runtime) {
    constexpr double latest_ms = 9e12;  // the clock ends some years after this
    tellStep(runtime, RunEvent::Kind::step_waiting, place.path);
    const std::int64_t now = plan.nowMs();
    try {
        const double ms = std::trunc(plan.entryOf(place).transform(StateScope(state, state.data)).as<double>());
        if (std::isnan(ms)) return {now, 0, "its time is not a number"};
        if (ms <= 0) return {now, 0, ""};
        return {now, static_cast<std::int64_t>(std::min(static_cast<double>(now) + ms, latest_ms)), ""};
    } catch (const std::exception& error) {
        const std::string text = error.what();
        return {now, 0, text.empty() ? "its time cannot be computed" : text};
    }
}

// A run that a dead process left in a block or a loop executes the steps that the definition had then. With that
// definition it can be continued.
void requireRecords(const Plan& plan, const std::vector<std::string>& members, const State& state) {
    for (const std::string& id : members) {
        if (state.records.contains(id)) continue;
        throw stategraph::detail::CallFailure<InvalidArgumentError>(
            InvalidArgumentError("step '" + plan.prefix + id +
                                 "' has not run, because the definition got it while its block or loop was under way; "
                                 "continue the run with " +
                                 "its former definition"));
    }
}

Command<State> conditionFailed(const Plan& plan, std::size_t entry, const State& state, const std::exception& error) {
    return advance(plan, state, entry, {Word::failed, Value(std::string(error.what()))}, {}, false);
}

}  // namespace

Command<State> joinBlock(const Plan& plan, std::size_t entry, const State& state) {
    std::vector<std::string> all;
    const Entry& block = plan.definition.entries[entry];
    const auto& members = membersOf(block, state, all);
    requireRecords(plan, members, state);
    Update<State> update;
    try {
        reduceAdditions(plan, state, update);
    } catch (const std::exception& error) {
        return conditionFailed(plan, entry, state, error);
    }
    for (const Word status : {Word::failed, Word::bailed, Word::suspended}) {
        for (const std::string& id : members) {
            const Record& record = state.records.at(id);
            if (record.status != status || (status == Word::failed && block.allows_failure)) continue;
            return advance(plan, state, entry,
                           {status, record.status == Word::failed ? Value(record.error) : record.output},
                           std::move(update), false);
        }
    }
    Values outputs;
    for (const std::string& id : members) outputs.emplace(id, state.records.at(id).output);
    try {
        Outcome outcome{Word::success, combined(block, outputs)};
        update.with(overwrite<&State::chosen>({}));
        return advance(plan, state, entry, std::move(outcome), std::move(update), state.is_canceled);
    } catch (const std::exception& error) {
        return conditionFailed(plan, entry, state, error);
    }
}

Command<State> askBranch(const Plan& plan, std::size_t entry, const State& state) {
    const Entry& branch = plan.definition.entries[entry];
    std::vector<std::string> chosen;
    try {
        const StateScope scope(state, state.data);
        for (std::size_t i = 0; i < branch.steps.size(); ++i) {
            if (branch.conditions[i](scope)) chosen.push_back(branch.steps[i].id);
        }
        if (chosen.empty()) return advance(plan, state, entry, {Word::success, combined(branch, {})}, {}, false);
    } catch (const std::exception& error) {
        return conditionFailed(plan, entry, state, error);
    }
    Targets to;
    for (const std::string& id : chosen) to.add(id);
    return {.update = {set<&State::chosen>(std::move(chosen))}, .go_to = std::move(to)};
}

Command<State> turnLoop(const Plan& plan, std::size_t entry, const State& state) {
    const Entry& loop = plan.definition.entries[entry];
    requireRecords(plan, {loop.steps.front().id}, state);
    const Record& body = state.records.at(loop.steps.front().id);
    bool holds = false;
    try {
        holds = loop.conditions.front()(StateScope(state, body.output, body.iteration));
    } catch (const std::exception& error) {
        return conditionFailed(plan, entry, state, error);
    }
    if (holds != (loop.kind == Entry::Kind::dowhile))
        return advance(plan, state, entry, {Word::success, body.output}, {}, false);
    return {.update = {set<&State::data>(body.output)}, .go_to = loop.steps.front().id};
}

Command<State> runMap(const Plan& plan, const Place& place, const State& state, Runtime& runtime) {
    const Entry& map = plan.entryOf(place);
    tellStep(runtime, RunEvent::Kind::step_start, place.path);
    std::map<std::string, Record> records;
    Record& record = records[map.id];
    record.status = Word::success;
    record.payload = state.data;
    record.attempts = 1;
    record.started_ms = plan.nowMs();
    try {
        record.output = map.transform(StateScope(state, state.data));
    } catch (const std::exception& error) {
        record.status = Word::failed;
        record.error = error.what();
    }
    record.ended_ms = plan.nowMs();
    const bool failed = record.status == Word::failed;
    Outcome outcome{record.status, failed ? Value(record.error) : record.output};
    tellStep(runtime, RunEvent::Kind::step_result, place.path, record.status);
    return advance(plan, state, place.entry, std::move(outcome),
                   {merge(&State::records, std::move(records)), add<&State::path>(map.id)}, false);
}

Command<State> runSleep(const Plan& plan, const Place& place, const State& state, Runtime& runtime) {
    const Entry& sleep = plan.entryOf(place);
    Record record{.status = Word::success, .payload = state.data, .output = state.data, .attempts = 1};
    // The wake time is computed once, and is the same in every process. So is the error if it cannot be computed.
    // A storage that cannot store it ends the call and not the run, which can be restarted.
    const auto [now_ms, until_ms, failure] = stategraph::detail::markingFailures(
        [&] { return runtime.once("sleep", [&] { return wakeTimeOf(plan, place, state, runtime); }); });
    record.started_ms = now_ms;
    if (!failure.empty()) {
        record.status = Word::failed;
        record.output = {};
        record.error = failure;
    }
    if (until_ms > 0) {
        const std::chrono::system_clock::time_point until(std::chrono::milliseconds{until_ms});
        stategraph::detail::markingFailures([&] { runtime.sleepUntil(until); });
    }
    record.ended_ms = plan.nowMs();
    const bool failed = record.status == Word::failed;
    Outcome outcome{failed ? Word::failed : Word::success, failed ? Value(record.error) : state.data};
    tellStep(runtime, RunEvent::Kind::step_result, place.path, record.status);
    return advance(plan, state, place.entry, std::move(outcome),
                   {merge(&State::records, {{sleep.id, std::move(record)}}), add<&State::path>(sleep.id)}, false);
}

}  // namespace stategraph::workflow

namespace stategraph::workflow::detail {

Value outputsInOrder(const std::vector<std::string>& ids, const Values& outputs) {
    std::vector<Value> list;
    list.reserve(ids.size());
    for (const std::string& id : ids) {
        const auto found = outputs.find(id);
        list.push_back(found == outputs.end() ? Value() : found->second);
    }
    return Value(list);
}

std::chrono::milliseconds timeUntil(std::chrono::system_clock::time_point time) noexcept {
    // As durations of the clock, the difference of the first point and now would not fit.
    const auto since = [](auto point) {
        return std::chrono::duration_cast<std::chrono::milliseconds>(point.time_since_epoch());
    };
    return since(time) - since(std::chrono::system_clock::now());
}

}  // namespace stategraph::workflow::detail
