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

std::optional<Value> TaskQuestions::findAnswer(const Interrupt& asked, TaskId asker, bool* is_new) const {
    const detail::LockGuard lock(env_.shared.answers_mutex);
    const TaskRecord& record = kept();
    const Interrupt* const answer = record.findAnswer(asked.id, asked.index);
    if (answer == nullptr) return {};
    if (is_new != nullptr) {
        // The answer was used before if the asker continued to another question, or failed for another reason than a
        // refused answer.
        const std::uint64_t after = asked.index + 1;
        const TaskId next = idOfQuestion(asker, after);
        const auto isNext = [&](const Interrupt& each) { return each.id == next; };
        const bool was_taken = (record.error && !isRefusal(*record.error)) ||
                               record.findAnswer(next, after) != nullptr ||
                               std::ranges::any_of(record.interrupts, isNext);
        const std::pair place(asked.id, asked.index);
        *is_new = !was_taken || std::ranges::find(env_.shared.new_answers, place) != env_.shared.new_answers.end();
    }
    return answer->value;
}

void TaskQuestions::noteCheck(const Interrupt& asked, std::string node, detail::AnswerCheck check) const {
    env_.root().core().askedQuestions().add({env_.shared.config->thread_id.toString(), asked.id, asked.index},
                                            {std::move(node), asked.key, check});
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
