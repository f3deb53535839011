#pragma once
#include <optional>
#include <string>
#include <vector>

#include "src/task/task_env.hpp"

namespace stategraph::engine {

/// The questions of one task, and their answers. Answers are in the record of the outermost task around it, so that one
/// write keeps them wherever they were asked for. Each call is safe from several threads.
class TaskQuestions {
public:
    TaskQuestions(TaskEnv& env, Task& task) noexcept : env_(env), task_(task) {}

    /// The answer to a question, if there is one. `is_new`: whether no attempt is known to have taken it.
    std::optional<Value> findAnswer(TaskId id, std::uint64_t index, bool* is_new = nullptr) const;
    bool hasAnswers() const;
    /// Remembers the type that an answer must have, for the newest questions of the process.
    void noteCheck(const Interrupt& asked, std::string node, detail::AnswerCheck check) const;
    /// The answer to the question that a task was last stopped at by an earlier version of the library, if it is this
    /// one: there what functions ask that `once` calls was counted among the node's own. `before`: how many of both
    /// came before in this attempt. The question gets the name and place of `now`.
    std::optional<Value> takeOldAnswer(const Value& question, std::uint64_t before, const Interrupt& now);
    /// A question with a key is asked, and has no answer: it is open if the attempt ends with a question, whichever
    /// that is.
    void noteAsked(const Interrupt& asked);
    /// The question with an id, which is one of the questions with keys of the current attempt.
    Interrupt askedOf(TaskId id) const;
    /// The first of them; none if nothing was asked.
    std::optional<Interrupt> firstAsked() const;
    /// What the attempt ends with: what graphs stopped at that the node called, by the calls' keys; those questions, by
    /// key; and `last` (null: there is no other) if it is not among them. A graph that sleeps sets the task's time to
    /// wake.
    std::vector<Interrupt> takeAsked(Interrupt* last);
    /// Makes the question open again.
    void withdrawAnswer(TaskId id, std::uint64_t index);

private:
    TaskRecord& kept() const noexcept SG_REQUIRES(env_.shared.answers_mutex);

    TaskEnv& env_;
    Task& task_;
};

}  // namespace stategraph::engine
