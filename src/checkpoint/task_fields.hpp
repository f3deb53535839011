#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/ids.hpp>
#include <stategraph/record.hpp>

#include "src/checkpoint/record_parts.hpp"

// Reads and writes the records of tasks, which are pending writes. Their grammar is in record.hpp.
namespace stategraph::checkpoint {

struct LoggedInterrupt {
    TaskId id;
    std::uint64_t index = 0;
    std::string_view value;
    std::string_view key = {};  // the question's key
};

struct LoggedEffect {
    std::uint64_t begun = 0;
    std::optional<std::string_view> result = {};
};

struct LoggedFailure {
    std::uint64_t attempts = 1;
    std::string_view text = {};
};

/// The field "took" of a task's record, in microseconds.
struct LoggedTaskTime {
    std::int64_t start_us = 0;  // since the task's checkpoint was made
    std::int64_t took_us = 0;   // not negative
};

/// One pending write: the record of a task.
struct TaskFields {
    std::string_view node = {};
    std::vector<std::string_view> to = {};
    std::vector<LoggedSend> sends = {};
    std::optional<std::string_view> error = {};
    bool has_failed_since = false;  // the task has failed after it asked "interrupts"
    std::optional<LoggedEffect> effect = {};
    std::optional<std::string_view> writes = {};  // a CBOR array
    std::optional<LoggedTaskTime> took = {};
    std::uint64_t attempts = 1;
    std::vector<LoggedInterrupt> answers = {};
    std::optional<LoggedFailure> failure = {};
    std::vector<LoggedInterrupt> interrupts = {};
    std::vector<CheckpointId> gates = {};  // in the row "run"
};

/// Finds out which questions of a task have an answer. The record of a subgraph's task has the questions of all tasks
/// inside, which can be many.
class AnsweredQuestions {
public:
    /// The record must outlive it.
    explicit AnsweredQuestions(const TaskFields& task);
    bool has(const LoggedInterrupt& asked) const noexcept;

private:
    std::vector<std::pair<TaskId, std::uint64_t>> answered_;  // sorted
};

/// Returns the questions of a task that have no answer yet, in the order in which they were asked.
std::vector<const LoggedInterrupt*> openQuestions(const TaskFields& task);

void writeTask(CheckpointId id, const TaskFields& task, std::string& out);
TaskFields readTask(const RowKey& key, std::string_view bytes);

}  // namespace stategraph::checkpoint
