#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/command.hpp>
#include <stategraph/error.hpp>
#include <stategraph/interrupt.hpp>

#include "src/checkpoint/due_tasks.hpp"

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

/// The answers that are given to the questions of one checkpoint. Everything throws UnknownInterruptError, which lists
/// the open questions, for answers that do not fit them.
class GivenAnswers {
public:
    /// The log and the records, which are those of its newest checkpoint, must outlive it.
    GivenAnswers(BaseCheckpointSaver& saver, const LogName& log, checkpoint::Records& records, ShownName shown);

    /// Returns for each answer the question that it is for, found by id or by a key that exactly one open question has.
    std::vector<const OpenQuestion*> match(const std::vector<Answer>& answers) const;
    /// Returns the question that an answer without a name is for.
    const OpenQuestion& only() const;

private:
    bool isRepeated(const Answer& answer) const;
    [[noreturn]] void refuse(UnknownInterruptError::Reason reason, std::string why, std::vector<std::string> ids,
                             bool is_answered) const;
    [[noreturn]] void refuseUnknown(const std::vector<const Answer*>& unknown) const;

    BaseCheckpointSaver& saver_;
    const LogName log_;
    const checkpoint::Records& records_;
    ShownName shown_;
    std::vector<OpenQuestion> open_;
};

/// Returns whether a run that resumes from these records must store that it has resumed, because they say that a run
/// stopped or that a task failed.
bool sayStopped(const checkpoint::Records& records) noexcept;

}  // namespace stategraph::engine
