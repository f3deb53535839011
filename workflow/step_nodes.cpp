#include <stategraph/detail/call_failure.hpp>

#include "workflow/execution.hpp"
#include "workflow/reducing.hpp"

// The nodes of steps: alone, as members of a block, and as bodies of loops.
namespace stategraph::workflow {
namespace {

bool isLoop(const Entry& entry) noexcept {
    return entry.kind == Entry::Kind::dowhile || entry.kind == Entry::Kind::dountil;
}

const Record* recordOf(const State& state, const std::string& id) noexcept {
    const auto found = state.records.find(id);
    return found == state.records.end() ? nullptr : &found->second;
}

// Reports the start once, even if the node runs again to resume inside, after a sleep.
void tellStart(const Place& place, Runtime& runtime) {
    if (runtime.attempt() > 1) return;
    const auto start = [&] { tellStep(runtime, RunEvent::Kind::step_start, place.path); };
    if (place.nested && place.nested->plan->sleeps) {
        stategraph::detail::markingFailures([&] { runtime.once("start", start); });
    } else {
        start();
    }
}

void tellEnd(const Place& place, const Record& record, Runtime& runtime) {
    const bool is_open = record.status == Word::suspended;
    tellStep(runtime, is_open ? RunEvent::Kind::step_suspended : RunEvent::Kind::step_result, place.path,
             record.status);
}

// What the step's node writes, which is one record.
using Records = std::map<std::string, Record>;

// Continues after a step has ended in any way.
Command<State> leaveStep(const Plan& plan, const Place& place, const State& state, Records records, Executed executed) {
    const std::string& id = place.step->id;
    const Record& record = records.begin()->second;
    const Entry& entry = plan.entryOf(place);
    const bool is_canceled = executed.is_canceled || state.is_canceled;
    Outcome outcome{record.status, record.status == Word::failed ? Value(record.error) : record.output};
    const bool turns = isLoop(entry) && outcome.status == Word::success && !is_canceled;
    Update<State> update{merge(&State::records, std::move(records)), add<&State::path>(id)};
    std::optional<std::int64_t> member;
    if (isBlock(entry)) member = place.step - entry.steps.data();
    try {
        putShared(plan, state, std::move(executed), member, update);
    } catch (const std::exception& error) {
        return advance(plan, state, place.entry, {Word::failed, Value(std::string(error.what()))}, std::move(update),
                       false);
    }
    if (isBlock(entry)) return {.update = std::move(update), .go_to = joinOf(place.entry)};
    if (turns) return {.update = std::move(update), .go_to = turnOf(place.entry)};
    return advance(plan, state, place.entry, std::move(outcome), std::move(update), is_canceled);
}

}  // namespace

namespace {

bool isCanceledBefore(const Plan& plan, const Place& place, Runtime& runtime) {
    return isCanceled(runtime) && !isBlock(plan.entryOf(place));
}
Command<State> endCanceled() { return {.update = {set<&State::status>(Word::canceled)}}; }

Records beginStep(const Plan& plan, const Place& place, const State& state, Runtime& runtime) {
    const std::string& id = place.step->id;
    Records records;
    beginRecord(plan, recordOf(state, id), state.data, isLoop(plan.entryOf(place)), records[id]);
    tellStart(place, runtime);
    return records;
}

Command<State> endStep(const Plan& plan, const Place& place, const State& state, Records records, Executed executed,
                       Runtime& runtime) {
    executed.is_canceled = executed.is_canceled || isCanceled(runtime);
    tellEnd(place, records.begin()->second, runtime);
    return leaveStep(plan, place, state, std::move(records), std::move(executed));
}

}  // namespace

Command<State> runStep(const Plan& plan, const Place& place, const State& state, Runtime& runtime) {
    if (isCanceledBefore(plan, place, runtime)) return endCanceled();
    Records records = beginStep(plan, place, state, runtime);
    Executed executed = execute(plan, place, records.begin()->second, state, runtime);
    return endStep(plan, place, state, std::move(records), std::move(executed), runtime);
}

Task<Command<State>> awaitStep(const Plan& plan, const Place& place, const State& state, Runtime& runtime) {
    if (isCanceledBefore(plan, place, runtime)) co_return endCanceled();
    Records records = beginStep(plan, place, state, runtime);
    Executed executed = co_await awaitExecution(plan, place, records.begin()->second, state, runtime);
    co_return endStep(plan, place, state, std::move(records), std::move(executed), runtime);
}

Command<State> stepFailed(const Plan& plan, const Place& place, const State& state, const NodeFailure& failure,
                          Runtime& runtime) {
    const std::string& id = place.step->id;
    Records records;
    Record& record = records[id];
    beginRecord(plan, recordOf(state, id), state.data, isLoop(plan.entryOf(place)), record);
    fail(plan, record, failure);
    tellEnd(place, record, runtime);
    return leaveStep(plan, place, state, std::move(records), {});
}

}  // namespace stategraph::workflow
