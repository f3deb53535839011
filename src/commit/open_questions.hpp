#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/command.hpp>
#include <stategraph/interrupt.hpp>

#include "checkpoint/due_tasks.hpp"

// The questions of a checkpoint that wait for an answer, and which of them given answers are for. Used by a run that is
// resumed and by the command that stores answers without a run.
namespace stategraph::engine {

struct OpenQuestion {
    std::string_view path;  // of the task's record
    checkpoint::TaskFields* record;
    Interrupt asked;
};

/// Those of tasks that have not finished, in the order of the records, which must outlive them.
std::vector<OpenQuestion> openQuestions(checkpoint::Records& records);

/// How a node is named in messages, by its stored name.
using ShownName = std::function<std::string(std::string_view stored)>;

/// For each answer, the question that it is for: by id, or by a key that one open question has. Errors:
/// InvalidArgumentError, which lists the open questions, for an answer to a question that is not open or was answered,
/// for two answers to one question, and for a key that several have.
std::vector<const OpenQuestion*> matchAnswers(const std::vector<OpenQuestion>& open, const checkpoint::Records& records,
                                              const std::vector<Answer>& answers, const ShownName& shown);

/// The one question that an answer without a name is for. Errors: InvalidArgumentError if none is open, or several.
const OpenQuestion& onlyQuestion(const std::vector<OpenQuestion>& open, const checkpoint::Records& records,
                                 const ShownName& shown);

/// Whether a run that resumes from these records must store that it has: they say that a run stopped, or that a task
/// failed.
bool sayStopped(const checkpoint::Records& records) noexcept;

}  // namespace stategraph::engine
