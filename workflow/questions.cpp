#include "workflow/questions.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <stategraph/detail/call_failure.hpp>
#include <stategraph/detail/stop_on_return.hpp>
#include <stategraph/error.hpp>
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
    for (Question& inner : openQuestions(*nested->plan, record.child.as<State>(), true)) {
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

std::size_t dueEntryOf(const Plan& plan, const State& state, bool waits) {
    const auto at = static_cast<std::size_t>(state.at);
    const std::vector<Entry>& entries = plan.definition.entries;
    for (std::size_t entry = entries.size(); entry > (waits ? 0 : at + 1); --entry) {
        for (const Step& step : entries[entry - 1].steps) {
            const auto found = state.records.find(step.id);
            if (found != state.records.end() && found->second.status == Word::suspended) return entry - 1;
        }
    }
    return at;
}

std::vector<Question> openQuestions(const Plan& plan, const State& state, bool waits) {
    std::vector<Question> open;
    const std::size_t due = dueEntryOf(plan, state, waits);
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
            at.is_due = place == due;
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

bool hasDueQuestion(const Plan& plan, const State& state, const std::vector<Interrupt>& interrupts) {
    const auto at = static_cast<std::size_t>(state.at);
    if (at < plan.definition.entries.size() && plan.definition.entries[at].kind != Entry::Kind::foreach) {
        for (const Step& step : plan.definition.entries[at].steps) {
            const auto found = state.records.find(step.id);
            if (!step.workflow && found != state.records.end() && found->second.status == Word::suspended) return true;
        }
    }
    return std::ranges::any_of(openQuestions(plan, state, true),
                               [&](const Question& each) { return each.is_due && isAsked(each, interrupts); });
}

namespace {

// The records that answers change.
struct Answered {
    std::map<std::string, Record> records;
    std::map<std::int64_t, Record> items;
};

// The answers are for steps that the definition no longer has. With the former definition the run can be continued.
[[noreturn]] void refuseAnswers(const Plan& plan, const Answered& answered) {
    std::string ids;
    for (const auto& [id, record] : answered.records) ids += (ids.empty() ? "'" : ", '") + plan.prefix + id + "'";
    throw stategraph::detail::CallFailure<InvalidArgumentError>(
        InvalidArgumentError("there is an answer for " + ids + ", which the workflow '" + plan.definition.id +
                             "' no longer has; continue the run with its former definition"));
}

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

// Returns the writes that answers make, and where the run continues. A member of a parallel that has not run, because
// the definition has it since the run asked, runs with those that are answered.
Command<State> goOn(const Plan& plan, const State& before, Answered after) {
    std::set<std::string> due;
    const std::size_t at = dueEntryOf(plan, before, true);
    if (at >= plan.definition.entries.size()) refuseAnswers(plan, after);
    const Entry& entry = plan.definition.entries[at];
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
    const bool takes_new = entry.kind == Entry::Kind::parallel;
    Targets to;
    bool is_answered = false;
    for (const std::string& id : idsOf(entry)) {
        is_answered = is_answered || after.records.contains(id);
        if (due.contains(id) || (takes_new && !before.records.contains(id))) to.add(id);
    }
    if (!is_answered) refuseAnswers(plan, after);
    if (before.at != static_cast<std::int64_t>(at)) update.with(set<&State::at>(static_cast<std::int64_t>(at)));
    update.with(merge(&State::records, std::move(records)));
    if (!items.empty()) update.with(merge(&State::items, std::move(items)));
    return {.update = std::move(update), .go_to = std::move(to)};
}

// Returns nothing if no question has an answer.
std::optional<Command<State>> takeAnswers(const Plan& plan, const State& state, Runtime& runtime) {
    std::optional<Answered> after;
    bool has_asked = false;
    for (Question& question : openQuestions(plan, state, true)) {
        if (!question.is_due) continue;
        const Suspension asked{joined(question.path), question.payload.isNull() ? Value(Values()) : question.payload,
                               question.labels};
        const std::optional<Value> answer = ask(runtime, question.key, asked);
        has_asked = true;
        if (!answer) continue;
        if (!after) after.emplace();
        giveAnswer(plan, state, *after, question.key, *answer);
    }
    if (!has_asked) {
        throw stategraph::detail::CallFailure<InvalidArgumentError>(
            InvalidArgumentError("the steps that asked are no longer in the workflow '" + plan.definition.id +
                                 "'; continue the run with its former definition"));
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
