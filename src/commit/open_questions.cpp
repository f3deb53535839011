#include "src/commit/open_questions.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/status.hpp>

#include "src/checkpoint/paths.hpp"

namespace stategraph::engine {
namespace {

using Reason = UnknownInterruptError::Reason;

// How many of the newest checkpoints are searched for a question that does not wait.
constexpr std::size_t searched_max = 1000;

// Returns whether some question that fits was answered at the checkpoint of these records.
template <class Fits>
bool wasAnswered(const checkpoint::Records& records, Fits fits) {
    for (const auto& [path, record] : records) {
        const checkpoint::AnsweredQuestions answered(record);
        for (const checkpoint::LoggedInterrupt& asked : record.interrupts) {
            if (fits(asked) && (record.writes || answered.has(asked))) return true;
        }
        if (std::ranges::any_of(record.answers, fits)) return true;
    }
    return false;
}

bool wasEdited(const checkpoint::Records& records) {
    const checkpoint::TaskFields* const run = records.find(checkpoint::run_path);
    return run != nullptr && run->node == toString(Status::edited);
}

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

GivenAnswers::GivenAnswers(BaseCheckpointSaver& saver, const LogName& log, checkpoint::Records& records,
                           ShownName shown)
    : saver_(saver), log_(log), records_(records), shown_(std::move(shown)), open_(openQuestions(records)) {}

void GivenAnswers::refuse(Reason reason, std::string why, std::vector<std::string> ids, bool is_answered) const {
    if (!open_.empty()) why += "; open are:";
    std::vector<Interrupt> pending;
    for (const OpenQuestion& each : open_) {
        const Interrupt& asked = each.asked;
        why += "\n  " + asked.id.toString() + (asked.key.empty() ? "" : " '" + asked.key + "'") + " (" +
               shown_(each.record->node) + "): " + asked.value.toJson();
        pending.push_back(asked);
    }
    throw UnknownInterruptError(reason, std::move(why), std::move(ids), std::move(pending), is_answered);
}

// Returns whether the newest question that the answer names was answered. The newest checkpoints are searched, because
// the thread has continued if that was its last question.
bool GivenAnswers::isRepeated(const Answer& answer) const {
    const auto isNamed = [&](const checkpoint::LoggedInterrupt& asked) {
        return answer.interrupt_id.empty() ? asked.key == answer.key : asked.id == answer.interrupt_id;
    };
    if (wasAnswered(records_, isNamed)) return true;
    try {
        const auto found = saver_.list({.thread_id = std::string(log_.thread_id),
                                        .checkpoint_ns = std::string(log_.checkpoint_ns),
                                        .limit = searched_max,
                                        .with_writes = true});
        return std::ranges::any_of(found, [&](const ListedCheckpoint& at) {
            return wasAnswered(checkpoint::readRecords(log_, at.id, at.writes), isNamed);
        });
    } catch (const Error&) {  // a log that cannot be read says nothing
        return false;
    }
}

// Names all that does not wait.
void GivenAnswers::refuseUnknown(const std::vector<const Answer*>& unknown) const {
    std::vector<std::string> ids;
    std::string why;
    bool are_answered = true;
    for (const Answer* each : unknown) {
        const bool has_id = !each->interrupt_id.empty();
        const std::string name = has_id ? each->interrupt_id.toString() : each->key;
        const bool is_repeated = isRepeated(*each);
        if (!why.empty()) why += "; ";
        if (is_repeated) {
            why += has_id
                       ? "interrupt " + name + " is answered already, so no open interrupt has that id"
                       : "the interrupt with the key '" + name + "' is answered already, so no open interrupt has it";
        } else {
            why += "no open interrupt has the " + (has_id ? "id " + name : "key '" + name + "'");
        }
        are_answered = are_answered && is_repeated;
        ids.push_back(name);
    }
    if (open_.empty()) why += "; none is open";
    refuse(Reason::not_pending, std::move(why), std::move(ids), are_answered);
}

std::vector<const OpenQuestion*> GivenAnswers::match(const std::vector<Answer>& answers) const {
    if (answers.empty())
        refuse(Reason::empty_map, "there are no answers; give at least one, or resume the thread without any (RESUME)",
               {}, false);
    std::map<TaskId, const OpenQuestion*> by_id;
    std::multimap<std::string_view, const OpenQuestion*> by_key;
    for (const OpenQuestion& each : open_) {
        by_id.emplace(each.asked.id, &each);
        if (!each.asked.key.empty()) by_key.emplace(each.asked.key, &each);
    }
    std::vector<const OpenQuestion*> matched;
    std::vector<const Answer*> unknown;
    std::set<const OpenQuestion*> answered;
    for (const Answer& answer : answers) {
        const OpenQuestion* question = nullptr;
        if (!answer.interrupt_id.empty() || answer.key.empty()) {
            const auto found = by_id.find(answer.interrupt_id);
            if (found != by_id.end()) question = found->second;
        } else if (const std::size_t count = by_key.count(answer.key); count > 1) {
            refuse(Reason::ambiguous,
                   std::to_string(count) + " open interrupts have the key '" + answer.key + "'; name each by its id",
                   {answer.key}, false);
        } else if (count == 1) {
            question = by_key.find(answer.key)->second;
        }
        if (question == nullptr) {
            unknown.push_back(&answer);
        } else if (answered.insert(question).second) {
            matched.push_back(question);
        } else {
            const std::string id = question->asked.id.toString();
            refuse(Reason::ambiguous, "interrupt " + id + " is answered twice", {id}, false);
        }
    }
    if (!unknown.empty()) refuseUnknown(unknown);
    return matched;
}

const OpenQuestion& GivenAnswers::only() const {
    if (open_.empty()) {
        std::string why = "there is no open interrupt that the resume value could answer";
        const bool is_answered = wasAnswered(records_, [](const auto&) { return true; });
        if (is_answered) {
            why += ": what was asked is answered already";
        } else if (wasEdited(records_)) {
            why +=
                ": the thread was edited; resume the thread without an answer (RESUME), so that the tasks that are due "
                "ask";
        }
        refuse(Reason::not_pending, std::move(why), {}, is_answered);
    }
    if (open_.size() > 1)
        refuse(Reason::ambiguous, "several interrupts are open; say which one each answer is for (Command::answers)",
               {}, false);
    return open_.front();
}

bool sayStopped(const checkpoint::Records& records) noexcept {
    return std::any_of(records.begin(), records.end(), [](const auto& stored) {
        const auto& [path, record] = stored;
        return path == checkpoint::run_path ? record.node != checkpoint::run_goes_on : record.error && !record.writes;
    });
}

}  // namespace stategraph::engine
