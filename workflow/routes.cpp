#include <algorithm>

#include "workflow/plan.hpp"

// Determines where a run continues: from entry to entry, to its end, or to the place where it waits for answers.
namespace stategraph::workflow {

Targets goingOn(const Plan& plan, const State& state) {
    const auto at = static_cast<std::size_t>(state.at);
    const Entry& due = plan.definition.entries[at];
    if (due.kind == Entry::Kind::branch && state.chosen.empty()) return askOf(at);
    Targets to;
    for (const std::string& id : due.kind == Entry::Kind::branch ? state.chosen : idsOf(due)) {
        const auto record = state.records.find(id);
        const bool is_due = record == state.records.end() || record->second.status == Word::none ||
                            record->second.status == Word::running;
        if (is_due) to.add(id);
    }
    if (to.empty()) to.add(isBlock(due) ? joinOf(at) : idsOf(due).front());
    return to;
}

bool hasPermanentFailure(const Plan& plan, const State& state) {
    return std::ranges::any_of(state.records, [&](const auto& each) {
        const Place* const place = each.second.is_permanent ? plan.findPlace(each.first) : nullptr;
        if (place == nullptr || place->entry != static_cast<std::size_t>(state.at)) return false;
        return !plan.entryOf(*place).allows_failure;
    });
}

namespace {

Command<State> end(Update<State> update, Word status) {
    update.with(set<&State::status>(status));
    return {.update = std::move(update)};
}

}  // namespace

Command<State> advance(const Plan& plan, const State& state, std::size_t entry, Outcome outcome, Update<State> update,
                       bool is_canceled) {
    const bool is_over = is_canceled || state.is_canceled;
    if (is_over && (outcome.status == Word::suspended || outcome.status == Word::bailed))
        return end(std::move(update), Word::canceled);
    if (outcome.status == Word::suspended) {
        if (plan.is_root) return {.update = std::move(update), .go_to = wait_node};
        return end(std::move(update), Word::suspended);
    }
    if (outcome.status == Word::failed) {
        update.with(set<&State::error>(outcome.value.as<std::string>()));
        return end(std::move(update), Word::failed);
    }
    if (outcome.status == Word::bailed) {
        update.with(set<&State::result>(std::move(outcome.value)));
        return end(std::move(update), Word::success);
    }
    const std::size_t next = entry + 1;
    const bool is_last = next == plan.definition.entries.size();
    update.with(set<&State::at>(static_cast<std::int64_t>(next)));
    if (is_last && !is_over) {
        update.with(set<&State::result>(std::move(outcome.value)));
        return end(std::move(update), Word::success);
    }
    update.with(set<&State::data>(std::move(outcome.value)));
    if (is_over) return end(std::move(update), Word::canceled);
    if (state.is_single_step) return end(std::move(update), Word::paused);
    return {.update = std::move(update), .go_to = plan.beginnings[next]};
}

}  // namespace stategraph::workflow
