#include "workflow/questions.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <stategraph/detail/stop_on_return.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/runtime.hpp>

namespace stategraph::workflow {
namespace {

void addOpen(const Plan& plan, const Step& step, const Record& record, Question at, std::vector<Question>& open) {
    if (record.status != Word::suspended) return;
    const Nested* const nested = plan.findNested(step.id);
    if (nested == nullptr) {
        at.payload = record.asked;
        at.labels = record.labels;
        at.step = &step;
        open.push_back(std::move(at));
        return;
    }
    for (Question& inner : openQuestions(*nested->plan, record.child.as<State>())) {
        Question whole = at;
        whole.key += "." + inner.key;
        whole.path.insert(whole.path.end(), inner.path.begin(), inner.path.end());
        if (!whole.index && inner.index) {
            whole.index = inner.index;
            whole.index_at = at.path.size() + inner.index_at;
        }
        whole.payload = std::move(inner.payload);
        whole.labels = std::move(inner.labels);
        whole.step = inner.step;
        whole.is_due = at.is_due && inner.is_due;
        open.push_back(std::move(whole));
    }
}

// The parts of a path such as "each[2].leaf": the id, the element if there is one, and the rest.
struct FirstPart {
    std::string_view id;
    std::optional<std::int64_t> index;
    std::string_view rest;
};
FirstPart firstPart(std::string_view key) {
    FirstPart part;
    const std::size_t dot = key.find('.');
    part.id = key.substr(0, dot);
    if (dot != std::string_view::npos) part.rest = key.substr(dot + 1);
    const std::size_t bracket = part.id.find('[');
    if (bracket == std::string_view::npos) return part;
    std::int64_t index = 0;
    std::from_chars(part.id.data() + bracket + 1, part.id.data() + part.id.size(), index);
    part.index = index;
    part.id = part.id.substr(0, bracket);
    return part;
}

void giveTo(const Plan& plan, Record& record, std::string_view rest, const Value& answer) {
    record.status = Word::running;
    record.labels.clear();
    record.pending = answer;
    record.resumed = answer;
    if (!rest.empty()) record.answers.insert_or_assign(std::string(rest), answer);
    if (rest.empty() && !record.questions.empty()) {
        record.questions.back().answer = answer;
        record.questions.back().resumed_ms = plan.nowMs();
    }
}

}  // namespace

std::string joined(const std::vector<std::string>& path) {
    std::string text;
    for (const std::string& id : path) text += (text.empty() ? "" : ".") + id;
    return text;
}

std::vector<std::string> split(std::string_view path) {
    std::vector<std::string> ids;
    while (!path.empty()) {
        const std::size_t dot = std::min(path.find('.'), path.size());
        ids.emplace_back(path.substr(0, dot));
        path.remove_prefix(std::min(dot + 1, path.size()));
    }
    return ids;
}

std::vector<Question> openQuestions(const Plan& plan, const State& state) {
    std::vector<Question> open;
    for (std::size_t place = 0; place < plan.definition.entries.size(); ++place) {
        const Entry& entry = plan.definition.entries[place];
        for (const Step& step : entry.steps) {
            const auto found = state.records.find(step.id);
            if (found == state.records.end() || found->second.status != Word::suspended) continue;
            Question at{.key = step.id,
                        .path = {step.id},
                        .index = {},
                        .index_at = 0,
                        .payload = {},
                        .labels = {},
                        .step = nullptr};
            at.is_due = static_cast<std::int64_t>(place) == state.at;
            if (entry.kind != Entry::Kind::foreach) {
                addOpen(plan, step, found->second, at, open);
                continue;
            }
            const auto count = found->second.payload.as<std::vector<Value>>().size();
            for (std::size_t i = 0; i < count; ++i) {
                const auto item = state.items.find(static_cast<std::int64_t>(i));
                if (item == state.items.end()) continue;
                Question of = at;
                of.key += "[" + std::to_string(i) + "]";
                of.index = static_cast<std::int64_t>(i);
                of.index_at = 1;
                addOpen(plan, step, item->second, std::move(of), open);
            }
        }
    }
    return open;
}

bool hasDueQuestion(const Plan& plan, const State& state) {
    const auto at = static_cast<std::size_t>(state.at);
    if (at >= plan.definition.entries.size()) return false;
    const Entry& due = plan.definition.entries[at];
    const bool is_simple = due.kind != Entry::Kind::foreach;
    bool may_ask = false;
    for (const Step& step : due.steps) {
        const auto found = state.records.find(step.id);
        if (found == state.records.end() || found->second.status != Word::suspended) continue;
        if (is_simple && !step.workflow) return true;
        may_ask = true;
    }
    return may_ask && std::ranges::any_of(openQuestions(plan, state), &Question::is_due);
}

namespace {

// The records that answers change.
struct Answered {
    std::map<std::string, Record> records;
    std::map<std::int64_t, Record> items;
};

// Writes an answer where the step that asked finds it when it is executed again. `key` is that of the question.
void giveAnswer(const Plan& plan, const State& before, Answered& after, std::string_view key, const Value& answer) {
    const FirstPart part = firstPart(key);
    const std::string id(part.id);
    Record& record = after.records.try_emplace(id, before.records.at(id)).first->second;
    if (part.index) {
        Record& item = after.items.try_emplace(*part.index, before.items.at(*part.index)).first->second;
        giveTo(plan, item, part.rest, answer);
        giveTo(plan, record, {}, answer);
    } else {
        giveTo(plan, record, part.rest, answer);
    }
}

// Returns the writes that answers make, and where the run continues.
Command<State> goOn(const Plan& plan, const State& before, Answered after) {
    std::set<std::string> due;
    Update<State> update;
    std::map<std::string, Record> records;
    std::map<std::int64_t, Record> items;
    for (auto& [id, record] : after.records) {
        if (record.status != Word::running || before.records.at(id).status == Word::running) continue;
        due.insert(id);
        records.emplace(id, std::move(record));
    }
    for (auto& [index, item] : after.items) {
        if (item.status == Word::running && before.items.at(index).status != Word::running)
            items.emplace(index, std::move(item));
    }
    Targets to;
    for (const std::string& id : idsOf(plan.definition.entries[static_cast<std::size_t>(before.at)])) {
        if (due.contains(id)) to.add(id);
    }
    update.with(merge(&State::records, std::move(records)));
    if (!items.empty()) update.with(merge(&State::items, std::move(items)));
    return {.update = std::move(update), .go_to = std::move(to)};
}

// Returns nothing if no question has an answer.
std::optional<Command<State>> takeAnswers(const Plan& plan, const State& state, Runtime& runtime) {
    std::optional<Answered> after;
    for (Question& question : openQuestions(plan, state)) {
        if (!question.is_due) continue;
        const Suspension asked{joined(question.path), question.payload.isNull() ? Value(Values()) : question.payload,
                               question.labels};
        const std::optional<Value> answer = ask(runtime, question.key, asked);
        if (!answer) continue;
        if (!after) after.emplace();
        giveAnswer(plan, state, *after, question.key, *answer);
    }
    if (!after) return {};
    return goOn(plan, state, std::move(*after));
}

}  // namespace

Command<State> waitForAnswers(const Plan& plan, const State& state, Runtime& runtime) {
    if (auto command = takeAnswers(plan, state, runtime)) return std::move(*command);
    stategraph::detail::stopOnReturn(runtime);
    return {};
}

Command<State> enterNested(const Plan& plan, const State& state) {
    Update<State> begun{set<&State::goes_on>(false)};
    if (state.answers.empty()) return {.update = std::move(begun), .go_to = goingOn(plan, state)};
    Answered after;
    for (const auto& [key, answer] : state.answers) giveAnswer(plan, state, after, key, answer);
    Command<State> command = goOn(plan, state, std::move(after));
    command.update.with(set<&State::goes_on>(false));
    return command;
}

}  // namespace stategraph::workflow
