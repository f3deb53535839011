#include "workflow/travel.hpp"

#include <map>

#include <stategraph/error.hpp>

namespace stategraph::workflow {
namespace {

bool hasRun(const State& state, const std::string& id) {
    const auto found = state.records.find(id);
    return found != state.records.end() && found->second.status != Word::none;
}

[[noreturn]] void refuseTarget(const Plan& plan, const std::string& id, const std::string& why) {
    throw RefusedError(Refusal::invalid_target, "step '" + plan.prefix + id + "' cannot be travelled to: " + why);
}

void checkPast(const Plan& plan, const State& state, const std::string& target, std::size_t at) {
    for (std::size_t i = 0; i < at; ++i) {
        const Entry& entry = plan.definition.entries[i];
        if (entry.kind == Entry::Kind::branch) continue;
        for (const std::string& id : idsOf(entry)) {
            if (!hasRun(state, id)) refuseTarget(plan, target, "step '" + plan.prefix + id + "' before it has not run");
        }
    }
}

// Forgets the records of an entry and of all entries after it. Returns the steps that had asked.
std::vector<std::string> forget(const Plan& plan, State& state, std::size_t at) {
    std::vector<std::string> asked;
    for (std::size_t i = at; i < plan.definition.entries.size(); ++i) {
        for (const std::string& id : idsOf(plan.definition.entries[i])) {
            const auto found = state.records.find(id);
            if (found == state.records.end()) continue;
            if (found->second.status == Word::suspended) asked.push_back(id);
            if (plan.definition.entries[i].kind == Entry::Kind::foreach) state.items.clear();
            state.records.erase(found);
        }
    }
    return asked;
}

// Sets the input of the entry: the new input, or what the entry before it has returned.
void setInput(const Plan& plan, State& state, std::size_t at, const std::optional<Value>& input) {
    if (at == 0) {
        if (input) state.input = *input;
        state.data = state.input;
        return;
    }
    const Entry& before = plan.definition.entries[at - 1];
    const std::vector<std::string> ids = idsOf(before);
    if (input) {
        state.data = *input;
        if (isBlock(before)) return;
        Record& record = state.records.at(ids.front());
        record.output = *input;
        record.status = Word::success;
        return;
    }
    if (!isBlock(before)) {
        state.data = state.records.at(ids.front()).output;
        return;
    }
    Values outputs;
    for (const std::string& id : ids) {
        const auto found = state.records.find(id);
        if (found != state.records.end()) outputs.emplace(id, found->second.output);
    }
    state.data = combined(before, outputs);
}

}  // namespace

Targets travel(const Plan& plan, State& state, std::span<const std::string> path, const Travel& how) {
    const std::string& id = path.front();
    const Place* const place = plan.findPlace(id);
    if (place == nullptr) refuseTarget(plan, id, "there is no such step");
    const std::size_t at = place->entry;
    const Entry& entry = plan.definition.entries[at];
    std::erase_if(state.records,
                  [](const auto& each) { return each.second.status == Word::none; });  // left by an earlier time travel
    checkPast(plan, state, id, at);
    const Nested* const nested = plan.findNested(id);
    const auto known = state.records.find(id);
    std::optional<Record> kept;
    if (path.size() > 1) {
        if (nested == nullptr || known == state.records.end() || known->second.child.isNull()) {
            refuseTarget(plan, id, "it is not a workflow that has run");
        }
        kept = known->second;
        State inner = kept->child.as<State>();
        (void)travel(*nested->plan, inner, path.subspan(1), how);
        kept->child = Value(inner);
    }
    if (how.state) state.shared = *how.state;
    std::map<std::string, Record> siblings;
    if (entry.kind == Entry::Kind::parallel) {
        for (const std::string& sibling : idsOf(entry)) {
            const auto found = state.records.find(sibling);
            if (sibling != id && found != state.records.end()) siblings.insert(*found);
        }
    }
    const std::vector<std::string> asked = forget(plan, state, at);
    state.at = static_cast<std::int64_t>(at);
    state.chosen.clear();
    state.additions.clear();
    state.status = Word::none;
    state.error.clear();
    state.result = {};
    state.is_canceled = false;
    state.records.merge(siblings);
    if (kept) {
        kept->status = Word::running;
        kept->output = {};
        kept->pending = {};
        kept->answers.clear();
        state.records.insert_or_assign(id, std::move(*kept));
        if (entry.kind == Entry::Kind::branch) state.chosen = {id};
        return goingOn(plan, state);
    }
    setInput(plan, state, at, how.input);
    for (const std::string& step : asked) {
        if (how.data && !state.records.contains(step))
            state.records.insert_or_assign(step, Record{.pending = *how.data});
    }
    return entry.kind == Entry::Kind::parallel && entry.steps.size() > 1 ? goingOn(plan, state) : plan.beginnings[at];
}

}  // namespace stategraph::workflow
