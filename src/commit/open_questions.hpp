#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/command.hpp>
#include <stategraph/interrupt.hpp>

#include "checkpoint/due_tasks.hpp"

// Finds the questions of a checkpoint that wait for an answer, and matches answers with them. Used by a run that is
// resumed and by the command that stores answers without a run.
namespace stategraph::engine {

struct OpenQuestion {
    std::string_view path;  // the path of the task's record
    checkpoint::TaskFields* record;
    Interrupt asked;
};

/// Returns the open questions of tasks that have not finished, in the order of the records, which must outlive them.
std::vector<OpenQuestion> openQuestions(checkpoint::Records& records);

/// Returns how messages name the node with this stored name.
using ShownName = std::function<std::string(std::string_view stored)>;

/// Returns for each answer the question that it is for, found by id or by a key that exactly one open question has.
/// Errors: InvalidArgumentError, which lists the open questions, for an answer to a question that is not open or was
/// answered, for two answers to one question, and for a key that several questions have.
std::vector<const OpenQuestion*> matchAnswers(const std::vector<OpenQuestion>& open, const checkpoint::Records& records,
                                              const std::vector<Answer>& answers, const ShownName& shown);

/// Returns the question that an answer without a name is for. Errors: InvalidArgumentError if no question is open, or
/// several are.
const OpenQuestion& onlyQuestion(const std::vector<OpenQuestion>& open, const checkpoint::Records& records,
                                 const ShownName& shown);

/// Returns whether a run that resumes from these records must store that it has resumed, because they say that a run
/// stopped or that a task failed.
bool sayStopped(const checkpoint::Records& records) noexcept;

}  // namespace stategraph::engine
