#pragma once
#include <optional>
#include <string>
#include <vector>

#include "src/task/task_env.hpp"

namespace stategraph::engine {

/// The questions of one task, and their answers. Answers are in the record of the outermost task around it, so that one
/// write stores them, wherever the questions were asked. Each call is safe from several threads.
class TaskQuestions {
public:
    TaskQuestions(TaskEnv& env, Task& task) noexcept : env_(env), task_(task) {}

    /// Returns the answer to a question, or none. `is_new` receives whether no attempt is known to have taken it.
    /// `asker` is whose questions are counted; for a question with a key, it is the question's id.
    std::optional<Value> findAnswer(const Interrupt& asked, TaskId asker, bool* is_new = nullptr) const;
    bool hasAnswers() const;
    /// Remembers the type that the answer must have. Only the newest questions of the process are kept.
    void noteCheck(const Interrupt& asked, std::string node, detail::AnswerCheck check) const;
    /// Notes that a question with a key is asked and has no answer: it is open if the attempt ends with any question.
    void noteAsked(const Interrupt& asked);
    /// Returns the question with this id, which is one of the questions with keys of the current attempt.
    Interrupt askedOf(TaskId id) const;
    /// Returns the first of them, or none if nothing was asked.
    std::optional<Interrupt> firstAsked() const;
    /// Notes that the attempt stops for the questions with keys, of which there is one, once its node has returned.
    void noteStop();
    /// Returns the questions with which the attempt ends: those at which graphs stopped that the node called, sorted by
    /// the calls' keys; the questions with keys, by key; and `last` (null if there is none) if it is not among them. A
    /// graph that sleeps sets the task's wake time.
    std::vector<Interrupt> takeAsked(Interrupt* last);
    /// Makes the question open again.
    void withdrawAnswer(TaskId id, std::uint64_t index);

private:
    TaskRecord& kept() const noexcept SG_REQUIRES(env_.shared.answers_mutex);

    TaskEnv& env_;
    Task& task_;
};

}  // namespace stategraph::engine
