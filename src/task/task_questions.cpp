#include "src/task/task_questions.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "src/task/questions.hpp"

namespace stategraph::engine {

TaskRecord& TaskQuestions::kept() const noexcept {
    TaskRecord* record = &task_.record;
    for (const ParentLink* link = env_.link; link != nullptr; link = link->env->link) record = &link->task->record;
    return *record;
}

bool TaskQuestions::hasAnswers() const {
    const detail::LockGuard lock(env_.shared.answers_mutex);
    return !kept().answers.empty();
}

std::optional<Value> TaskQuestions::findAnswer(TaskId id, std::uint64_t index, bool* is_new) const {
    const detail::LockGuard lock(env_.shared.answers_mutex);
    const TaskRecord& record = kept();
    const Interrupt* const answer = record.findAnswer(id, index);
    if (answer == nullptr) return {};
    if (is_new != nullptr) {
        // The answer was used before if the asker continued to another question, or failed for another reason than a
        // refused answer.
        const auto comesLater = [&](const Interrupt& asked) { return asked.id == id && asked.index > index; };
        const bool was_taken =
            (record.error && !isRefusal(*record.error)) || std::ranges::any_of(record.interrupts, comesLater);
        *is_new = !was_taken ||
                  std::ranges::find(env_.shared.new_answers, std::pair(id, index)) != env_.shared.new_answers.end();
    }
    return answer->value;
}

void TaskQuestions::noteCheck(const Interrupt& asked, std::string node, detail::AnswerCheck check) const {
    env_.root().core().askedQuestions().add({env_.shared.config->thread_id.toString(), asked.id, asked.index},
                                            {std::move(node), asked.key, check});
}

std::optional<Value> TaskQuestions::takeOldAnswer(const Value& question, std::uint64_t before, const Interrupt& now) {
    const detail::LockGuard lock(env_.shared.answers_mutex);
    TaskRecord& record = kept();
    const auto isOld = [&](const Interrupt& asked) {
        return asked.id == task_.id && asked.index >= before && asked.value == question;
    };
    const auto asked = std::ranges::find_if(task_.record.interrupts, isOld);
    if (asked == task_.record.interrupts.end()) return {};
    const std::uint64_t index = asked->index;
    const auto isIt = [&](const Interrupt& each) { return each.id == task_.id && each.index == index; };
    const auto answer = std::ranges::find_if(record.answers, isIt);
    if (answer == record.answers.end()) return {};
    for (auto* list : {&record.answers, &record.interrupts, &task_.record.interrupts}) {
        for (Interrupt& each : *list) {
            if (isIt(each)) each = {now.id, now.index, std::move(each.value)};
        }
    }
    for (const Interrupt& each : record.answers) {
        if (each.id == now.id && each.index == now.index) return each.value;
    }
    return {};
}

void TaskQuestions::noteAsked(const Interrupt& asked) {
    const detail::LockGuard lock(env_.shared.answers_mutex);
    const auto place = [](const Interrupt& each) { return std::tie(each.key, each.id); };
    std::vector<Interrupt>& known = task_.useExtra().asked_with_key;
    const auto at = std::ranges::lower_bound(known, place(asked), {}, place);
    if (at == known.end() || at->id != asked.id) known.insert(at, asked);
}

Interrupt TaskQuestions::askedOf(TaskId id) const {
    const detail::LockGuard lock(env_.shared.answers_mutex);
    return *std::ranges::find(task_.extra().asked_with_key, id, &Interrupt::id);
}

std::optional<Interrupt> TaskQuestions::firstAsked() const {
    const detail::LockGuard lock(env_.shared.answers_mutex);
    const std::vector<Interrupt>& asked = task_.extra().asked_with_key;
    if (asked.empty()) return {};
    return asked.front();
}

void TaskQuestions::noteStop() {
    const detail::LockGuard lock(env_.shared.answers_mutex);
    TaskExtra& extra = task_.useExtra();
    extra.asked.assign(1, extra.asked_with_key.front());
}

std::vector<Interrupt> TaskQuestions::takeAsked(Interrupt* last) {
    const detail::LockGuard lock(env_.shared.answers_mutex);
    std::vector<Interrupt> asked;
    TaskExtra& extra = task_.useExtra();
    for (const NodeCall& call : extra.calls) {
        asked.insert(asked.end(), call.asked.begin(), call.asked.end());
        if (call.wake_at && (!extra.wake_at || *call.wake_at < *extra.wake_at)) extra.wake_at = call.wake_at;
    }
    std::move(extra.asked_with_key.begin(), extra.asked_with_key.end(), std::back_inserter(asked));
    extra.asked_with_key.clear();
    const auto isLast = [last](const Interrupt& each) { return each.id == last->id && each.index == last->index; };
    if (last != nullptr && std::ranges::none_of(asked, isLast)) asked.push_back(std::move(*last));
    return asked;
}

void TaskQuestions::withdrawAnswer(TaskId id, std::uint64_t index) {
    const detail::LockGuard lock(env_.shared.answers_mutex);
    std::erase_if(kept().answers, [&](const Interrupt& answer) { return answer.id == id && answer.index == index; });
}

}  // namespace stategraph::engine
