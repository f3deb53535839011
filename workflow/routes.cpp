#include "workflow/plan.hpp"

// Where a run goes: from entry to entry, to its end, or to the place where it waits for answers.
namespace stategraph::workflow {

Targets beginningOf(const Plan& plan, std::size_t entry) {
    const Entry& due = plan.definition.entries[entry];
    if (due.kind == Entry::Kind::branch) return askOf(entry);
    Targets to;
    for (const std::string& id : idsOf(due)) to.add(id);
    if (to.empty()) to.add(joinOf(entry));
    return to;
}

Targets goingOn(const Plan& plan, const State& state) {
    const auto at = static_cast<std::size_t>(state.at);
    const Entry& due = plan.definition.entries[at];
    if (due.kind == Entry::Kind::branch && state.chosen.empty()) return askOf(at);
    Targets to;
    for (const std::string& id : due.kind == Entry::Kind::branch ? state.chosen : idsOf(due)) {
        const auto record = state.records.find(id);
        const bool is_due =
            record == state.records.end() || record->second.status.empty() || record->second.status == word::RUNNING;
        if (is_due) to.add(id);
    }
    if (to.empty()) to.add(isBlock(due) ? joinOf(at) : idsOf(due).front());
    return to;
}

namespace {

Command<State> end(Update<State> update, const char* status) {
    update.with(set<&State::status>(std::string(status)));
    return {.update = std::move(update)};
}

}  // namespace

Command<State> advance(const Plan& plan, const State& state, std::size_t entry, Outcome outcome, Update<State> update,
                       bool is_canceled) {
    if (outcome.status == word::SUSPENDED) {
        if (plan.is_root) return {.update = std::move(update), .go_to = wait_node};
        return end(std::move(update), word::SUSPENDED);
    }
    if (outcome.status == word::FAILED) {
        update.with(set<&State::error>(outcome.value.as<std::string>()));
        return end(std::move(update), word::FAILED);
    }
    if (outcome.status == word::BAILED) {
        update.with(set<&State::result>(std::move(outcome.value)));
        return end(std::move(update), word::SUCCESS);
    }
    const std::size_t next = entry + 1;
    const bool is_last = next == plan.definition.entries.size();
    update.with(set<&State::at>(static_cast<std::int64_t>(next)));
    update.with(set<&State::data>(outcome.value));
    if (is_canceled || state.is_canceled) return end(std::move(update), word::CANCELED);
    if (is_last) {
        update.with(set<&State::result>(std::move(outcome.value)));
        return end(std::move(update), word::SUCCESS);
    }
    if (state.is_single_step) return end(std::move(update), word::PAUSED);
    return {.update = std::move(update), .go_to = beginningOf(plan, next)};
}

}  // namespace stategraph::workflow
