#include "workflow/execution.hpp"

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

// Once, also where the node runs again to resume inside, after a sleep.
void tellStart(const Plan& plan, const Step& step, Runtime& runtime) {
    if (runtime.attempt() > 1) return;
    const auto start = [&] { tell(runtime, {.kind = RunEvent::Kind::step_start, .path = pathOf(plan, step.id)}); };
    const Nested* const nested = plan.findNested(step.id);
    if (nested != nullptr && nested->plan->sleeps) {
        runtime.once("start", start);
    } else {
        start();
    }
}

void tellEnd(const Plan& plan, const std::string& id, const Record& record, Runtime& runtime) {
    if (!isWatched(runtime)) return;
    const bool is_open = record.status == word::SUSPENDED;
    tell(runtime, {.kind = is_open ? RunEvent::Kind::step_suspended : RunEvent::Kind::step_result,
                   .path = pathOf(plan, id),
                   .status = record.status});
}

// After a step has ended, whichever way.
Command<State> leaveStep(const Plan& plan, std::size_t entry, const Step& step, const State& state, Executed executed) {
    const Record& record = executed.record;
    const Entry& place = plan.definition.entries[entry];
    const bool is_canceled = executed.is_canceled || state.is_canceled;
    Outcome outcome{record.status, record.status == word::FAILED ? Value(record.error) : record.output};
    const bool turns = isLoop(place) && outcome.status == word::SUCCESS && !is_canceled;
    Update<State> update;
    if (!executed.shared.empty()) update.with(merge(&State::shared, std::move(executed.shared)));
    if (executed.is_canceled) update.with(add<&State::is_canceled>(true));
    std::string_view status = word::SUCCESS;
    for (const char* each : {word::SUSPENDED, word::FAILED, word::BAILED}) {
        if (outcome.status == each) status = each;
    }
    outcome.status = status;
    update.with(merge(&State::records, {{step.id, std::move(executed.record)}}));
    update.with(add<&State::path>(step.id));
    if (isBlock(place)) return {.update = std::move(update), .go_to = joinOf(entry)};
    if (turns) return {.update = std::move(update), .go_to = turnOf(entry)};
    return advance(plan, state, entry, std::move(outcome), std::move(update), is_canceled);
}

}  // namespace

Command<State> runStep(const Plan& plan, std::size_t entry, const Step& step, const State& state, Runtime& runtime) {
    const Entry& place = plan.definition.entries[entry];
    if (isCanceled(runtime) && !isBlock(place)) return {.update = {set<&State::status>(std::string(word::CANCELED))}};
    Record record = beginRecord(plan, recordOf(state, step.id), state.data, isLoop(place));
    tellStart(plan, step, runtime);
    Executed executed = execute(plan, step, std::move(record), state, runtime);
    executed.is_canceled = executed.is_canceled || isCanceled(runtime);
    tellEnd(plan, step.id, executed.record, runtime);
    return leaveStep(plan, entry, step, state, std::move(executed));
}

Command<State> stepFailed(const Plan& plan, std::size_t entry, const Step& step, const State& state,
                          const NodeFailure& failure, Runtime& runtime) {
    Record begun = beginRecord(plan, recordOf(state, step.id), state.data, isLoop(plan.definition.entries[entry]));
    Executed executed{.record = failedRecord(plan, std::move(begun), failure), .shared = {}};
    tellEnd(plan, step.id, executed.record, runtime);
    return leaveStep(plan, entry, step, state, std::move(executed));
}

}  // namespace stategraph::workflow
