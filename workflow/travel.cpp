#include "workflow/travel.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>

#include "workflow/questions.hpp"
#include "workflow/refuse.hpp"

namespace stategraph::workflow {
namespace {

bool hasRun(const State& state, const std::string& id) {
    const auto found = state.records.find(id);
    return found != state.records.end() && found->second.status != Word::none;
}

/// One travel inside one workflow: to a step of it, or to one inside a step of it.
class Traveller {
public:
    Traveller(const Plan& plan, State& state, std::span<const std::string> path, const Travel& how)
        : plan_(plan), state_(state), path_(path), id_(path.front()), how_(how), place_(placeOf(plan, id_)) {}

    Targets go() {
        std::erase_if(state_.records,
                      [](const auto& each) { return each.second.status == Word::none; });  // left by an earlier travel
        takeOutputs();
        checkPast();
        std::optional<Record> inner = travelInside();
        if (how_.state) state_.shared = *how_.state;
        const std::map<std::string, Record> siblings = siblingRecords();
        const std::map<std::string, Record> answers = inner ? std::map<std::string, Record>() : answered();
        std::map<std::int64_t, Record> done = succeededElements();
        forget();
        state_.at = static_cast<std::int64_t>(place_.entry);
        state_.chosen.clear();
        state_.additions.clear();
        state_.status = Word::none;
        state_.error.clear();
        state_.result = {};
        state_.is_canceled = false;
        state_.records.insert(siblings.begin(), siblings.end());
        if (inner) {
            state_.records.insert_or_assign(id_, std::move(*inner));
            if (entry().kind == Entry::Kind::branch) state_.chosen = {id_};
            return goingOn(plan_, state_);
        }
        setInput(how_.input ? std::optional(checkedInput(*how_.input)) : std::nullopt);
        state_.records.insert(answers.begin(), answers.end());
        continueAfter(std::move(done));
        const bool has_siblings = entry().kind == Entry::Kind::parallel && entry().steps.size() > 1;
        return has_siblings ? goingOn(plan_, state_) : plan_.beginnings[place_.entry];
    }

private:
    [[noreturn]] void refuseTarget(const std::string& why) const {
        refuse(Refusal::invalid_target, how_.run_id,
               "step '" + plan_.prefix + id_ + "' cannot be travelled to: " + why);
    }
    const Place& placeOf(const Plan& plan, const std::string& id) const {
        const Place* const place = plan.findPlace(id);
        if (place == nullptr) refuseTarget("there is no such step");
        return *place;
    }
    const Entry& entry() const noexcept { return plan_.entryOf(place_); }

    // Gives steps the outputs that the caller has for them. Those of steps inside the target are passed on.
    void takeOutputs() {
        for (const auto& [path, output] : how_.outputs) {
            const std::string id = path.substr(0, path.find('.'));
            if (id.size() < path.size() && id == id_ && path_.size() > 1) {
                inner_outputs_.emplace(path.substr(id.size() + 1), output);
                continue;
            }
            const Place* const place = plan_.findPlace(path);
            if (place == nullptr)
                refuseTarget("an output is given for '" + plan_.prefix + path + "', and there is no such step");
            const bool is_sibling =
                place->entry == place_.entry && entry().kind == Entry::Kind::parallel && path != id_;
            if (place->entry >= place_.entry && !is_sibling)
                refuseTarget("an output is given for '" + plan_.prefix + path + "', which does not come before it");
            const std::int64_t now = plan_.nowMs();
            state_.records.insert_or_assign(
                path, Record{.status = Word::success, .output = output, .started_ms = now, .ended_ms = now});
        }
    }

    // In a run that was never started, the input of the target replaces what the entry before it would have returned.
    void checkPast() const {
        const bool stands_for_entry = how_.is_new && how_.input && path_.size() == 1;
        for (std::size_t i = 0; i + (stands_for_entry ? 1 : 0) < place_.entry; ++i) {
            const Entry& before = plan_.definition.entries[i];
            if (before.kind == Entry::Kind::branch) continue;
            for (const std::string& each : idsOf(before)) {
                if (!hasRun(state_, each)) refuseTarget("step '" + plan_.prefix + each + "' before it has not run");
            }
        }
    }

    // If the target is inside a step of this workflow, returns that step's record, which continues from there.
    std::optional<Record> travelInside() {
        if (path_.size() == 1) return {};
        const Nested* const nested = plan_.findNested(id_);
        if (nested == nullptr || entry().kind == Entry::Kind::foreach)
            refuseTarget("it is not a workflow that has steps of its own");
        const auto known = state_.records.find(id_);
        Record record = known == state_.records.end() ? Record() : known->second;
        State inner;
        if (record.child.isNull()) {
            if (!how_.is_new && inner_outputs_.empty()) refuseTarget("it is a workflow that has not run");
            record.payload = inputOf();
            inner.input = record.payload;
            inner.data = record.payload;
        } else {
            inner = record.child.as<State>();
        }
        (void)Traveller(*nested->plan, inner, path_.subspan(1),
                        {how_.run_id, how_.input, how_.state, how_.data, std::move(inner_outputs_), how_.is_new})
            .go();
        record.child = Value(inner);
        record.status = Word::running;
        record.output = {};
        record.pending = {};
        record.answers.clear();
        if (record.started_ms == 0) record.started_ms = plan_.nowMs();
        return record;
    }

    std::map<std::string, Record> siblingRecords() const {
        std::map<std::string, Record> siblings;
        if (entry().kind != Entry::Kind::parallel) return siblings;
        for (const std::string& sibling : idsOf(entry())) {
            const auto found = state_.records.find(sibling);
            if (sibling != id_ && found != state_.records.end()) siblings.insert(*found);
        }
        return siblings;
    }

    // If the target is a foreach that has failed, returns the elements that had succeeded. They are not executed again,
    // unless the list, the state or what came before is replaced. Call it before the steps are forgotten.
    std::map<std::int64_t, Record> succeededElements() const {
        const auto known = state_.records.find(id_);
        const bool has_failed = known != state_.records.end() && known->second.status == Word::failed;
        const bool is_same = !how_.input && !how_.state && how_.outputs.empty();
        if (entry().kind != Entry::Kind::foreach || !has_failed || !is_same) return {};
        std::map<std::int64_t, Record> elements = state_.items;
        std::erase_if(elements, [](const auto& each) { return each.second.status != Word::success; });
        return elements;
    }
    void continueAfter(std::map<std::int64_t, Record> elements) {
        if (elements.empty()) return;
        state_.items = std::move(elements);
        Record& record = state_.records[id_];
        record.status = Word::running;
        record.payload = state_.data;
        record.started_ms = plan_.nowMs();
    }

    // Forgets the records of the target's entry and of all entries after it.
    void forget() {
        for (std::size_t i = place_.entry; i < plan_.definition.entries.size(); ++i) {
            for (const std::string& id : idsOf(plan_.definition.entries[i])) {
                const bool is_known = state_.records.erase(id) > 0;
                if (is_known && plan_.definition.entries[i].kind == Entry::Kind::foreach) state_.items.clear();
            }
        }
    }

    // Refuses an input that the target's check refuses. The step checks it again when it runs.
    Value checkedInput(const Value& input) const {
        Value checked = input;
        try {
            if (place_.entry == 0 && plan_.definition.input) checked = plan_.definition.input(std::move(checked));
            if (place_.step != nullptr && place_.step->input && entry().kind != Entry::Kind::foreach)
                (void)place_.step->input(checked);
        } catch (const std::exception& error) {
            refuse(Refusal::invalid_input, how_.run_id,
                   "its input is not what step '" + place_.path + "' takes: " + error.what());
        }
        return checked;
    }
    // Returns records for the steps at the target and after it that had asked, with the answer for their next
    // execution. For a workflow it is addressed to its steps that had asked. Call it before the steps are forgotten.
    std::map<std::string, Record> answered() const {
        std::map<std::string, Record> records;
        if (!how_.data) return records;
        for (const Question& each : openQuestions(plan_, state_)) {
            const std::string& id = each.path.front();
            const std::size_t at = plan_.findPlace(id)->entry;
            const bool is_sibling = at == place_.entry && entry().kind == Entry::Kind::parallel && id != id_;
            if (at < place_.entry || is_sibling) continue;
            Record& record = records[id];
            record.pending = checkedData(each);
            if (each.key == id) {
                record.questions = state_.records.at(id).questions;
                record.questions.back().answer = record.pending;
                record.questions.back().resumed_ms = plan_.nowMs();
            }
            const std::size_t dot = each.key.find('.');
            if (dot != std::string::npos) record.answers.emplace(each.key.substr(dot + 1), record.pending);
        }
        return records;
    }
    Value checkedData(const Question& question) const {
        try {
            return question.step->resume ? question.step->resume(*how_.data) : *how_.data;
        } catch (const std::exception& error) {
            refuse(Refusal::invalid_resume_data, how_.run_id,
                   "the answer is not what '" + plan_.prefix + question.key + "' takes: " + error.what());
        }
    }

    // What the entry before the target has returned.
    Value inputOf() const {
        if (place_.entry == 0) return state_.input;
        const Entry& before = plan_.definition.entries[place_.entry - 1];
        const std::vector<std::string> ids = idsOf(before);
        const bool passes_on = before.kind == Entry::Kind::sleep;  // also if its time has not come
        if (!isBlock(before)) {
            const Record& record = state_.records.at(ids.front());
            return passes_on && record.status == Word::waiting ? record.payload : record.output;
        }
        Values outputs;
        for (const std::string& id : ids) {
            const auto found = state_.records.find(id);
            if (found != state_.records.end()) outputs.emplace(id, found->second.output);
        }
        return combined(before, outputs);
    }

    // Sets the input of the target's entry: the new input, or what the entry before it has returned.
    void setInput(const std::optional<Value>& input) {
        state_.data = input ? *input : inputOf();
        if (!input) return;
        if (place_.entry == 0) {
            state_.input = *input;
            return;
        }
        const Entry& before = plan_.definition.entries[place_.entry - 1];
        if (isBlock(before)) return;
        Record& record = state_.records[idsOf(before).front()];
        record.output = *input;
        record.status = Word::success;
    }

    const Plan& plan_;
    State& state_;
    std::span<const std::string> path_;
    const std::string& id_;
    const Travel& how_;
    const Place& place_;
    Values inner_outputs_ = {};
};

}  // namespace

Targets travel(const Plan& plan, State& state, std::span<const std::string> path, const Travel& how) {
    return Traveller(plan, state, path, how).go();
}

}  // namespace stategraph::workflow
