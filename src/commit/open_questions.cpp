#include "src/commit/open_questions.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <stategraph/error.hpp>

#include "checkpoint/paths.hpp"

namespace stategraph::engine {
namespace {

[[noreturn]] void refuse(std::string why, const std::vector<OpenQuestion>& open, const ShownName& shown) {
    for (const OpenQuestion& each : open) {
        const Interrupt& asked = each.asked;
        why += "\n  " + asked.id.toString() + (asked.key.empty() ? "" : " '" + asked.key + "'") + " (" +
               shown(each.record->node) + "): " + asked.value.toJson();
    }
    throw InvalidArgumentError(std::move(why));
}

// Returns whether some question that fits was answered before.
template <class Fits>
bool wasAnswered(const checkpoint::Records& records, Fits fits) {
    for (const auto& [path, record] : records) {
        const checkpoint::AnsweredQuestions answered(record);
        for (const checkpoint::LoggedInterrupt& asked : record.interrupts) {
            if (fits(asked) && (record.writes || answered.has(asked))) return true;
        }
    }
    return false;
}

bool wasEdited(const checkpoint::Records& records) {
    const checkpoint::TaskFields* const run = records.find(checkpoint::run_path);
    return run != nullptr && run->node == checkpoint::run_edited;
}

std::string listed(const std::vector<OpenQuestion>& open) { return open.empty() ? "; none is open" : "; open are:"; }

}  // namespace

std::vector<OpenQuestion> openQuestions(checkpoint::Records& records) {
    std::vector<OpenQuestion> open;
    for (auto& [path, record] : records) {
        if (record.writes) continue;
        for (const auto* asked : checkpoint::openQuestions(record)) {
            open.push_back(
                {path,
                 &record,
                 {asked->id, asked->index, Value::fromCbor(std::string(asked->value)), std::string(asked->key)}});
        }
    }
    return open;
}

std::vector<const OpenQuestion*> matchAnswers(const std::vector<OpenQuestion>& open, const checkpoint::Records& records,
                                              const std::vector<Answer>& answers, const ShownName& shown) {
    std::map<TaskId, const OpenQuestion*> by_id;
    std::multimap<std::string_view, const OpenQuestion*> by_key;
    for (const OpenQuestion& each : open) {
        by_id.emplace(each.asked.id, &each);
        if (!each.asked.key.empty()) by_key.emplace(each.asked.key, &each);
    }
    std::vector<const OpenQuestion*> matched;
    std::set<TaskId> answered;
    for (const Answer& answer : answers) {
        TaskId id = answer.interrupt_id;
        if (!answer.key.empty() && id.empty()) {
            const std::size_t count = by_key.count(answer.key);
            const auto hasKey = [&](const auto& asked) { return asked.key == answer.key; };
            if (count == 0 && wasAnswered(records, hasKey))
                refuse("the interrupt with the key '" + answer.key +
                           "' is answered already, so no open interrupt has it" + listed(open),
                       open, shown);
            if (count == 0) refuse("no open interrupt has the key '" + answer.key + "'" + listed(open), open, shown);
            if (count > 1)
                refuse(std::to_string(count) + " open interrupts have the key '" + answer.key +
                           "'; name each by its id. Open are:",
                       open, shown);
            id = by_key.find(answer.key)->second->asked.id;
        }
        const auto found = by_id.find(id);
        const auto hasId = [&](const auto& asked) { return asked.id == id; };
        if (found == by_id.end() && wasAnswered(records, hasId))
            refuse(
                "interrupt " + id.toString() + " is answered already, so no open interrupt has that id" + listed(open),
                open, shown);
        if (found == by_id.end()) refuse("no open interrupt has the id " + id.toString() + listed(open), open, shown);
        if (!answered.insert(id).second)
            refuse("interrupt " + id.toString() + " is answered twice; open are:", open, shown);
        matched.push_back(found->second);
    }
    return matched;
}

const OpenQuestion& onlyQuestion(const std::vector<OpenQuestion>& open, const checkpoint::Records& records,
                                 const ShownName& shown) {
    if (open.empty()) {
        std::string why = "there is no open interrupt that the resume value could answer";
        if (wasAnswered(records, [](const auto&) { return true; })) {
            why += ": what was asked is answered already";
        } else if (wasEdited(records)) {
            why +=
                ": the thread was edited; resume the thread without an answer (RESUME), so that the tasks that are due "
                "ask";
        }
        refuse(std::move(why), open, shown);
    }
    if (open.size() > 1)
        refuse("several interrupts are open; say which one each answer is for (Command::answers):", open, shown);
    return open.front();
}

bool sayStopped(const checkpoint::Records& records) noexcept {
    return std::any_of(records.begin(), records.end(), [](const auto& stored) {
        const auto& [path, record] = stored;
        return path == checkpoint::run_path ? record.node != checkpoint::run_goes_on : record.error && !record.writes;
    });
}

}  // namespace stategraph::engine
