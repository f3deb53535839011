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
    std::optional<Value> findAnswer(TaskId id, std::uint64_t index, bool* is_new = nullptr) const;
    bool hasAnswers() const;
    /// Remembers the type that the answer must have. Only the newest questions of the process are kept.
    void noteCheck(const Interrupt& asked, std::string node, detail::AnswerCheck check) const;
    /// Returns the answer to this question if it is the one at which an earlier version of the library stopped the
    /// task; there, questions of functions that `once` calls were counted among the node's own. `before` is how many of
    /// both kinds came before it in this attempt. The question gets the name and place of `now`.
    std::optional<Value> takeOldAnswer(const Value& question, std::uint64_t before, const Interrupt& now);
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
