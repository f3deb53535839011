#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/ids.hpp>
#include <stategraph/record.hpp>

#include "checkpoint/record_parts.hpp"

// The records of tasks, which are pending writes; their grammar is in record.hpp.
namespace stategraph::checkpoint {

struct LoggedInterrupt {
    TaskId id;
    std::uint64_t index = 0;
    std::string_view value;
};

struct LoggedEffect {
    std::uint64_t begun = 0;
    std::optional<std::string_view> result = {};
};

struct LoggedFailure {
    std::uint64_t attempts = 1;
    std::string_view text = {};
};

/// One pending write: the record of a task.
struct TaskFields {
    std::string_view node = {};
    std::vector<std::string_view> to = {};
    std::vector<LoggedSend> sends = {};
    std::optional<std::string_view> error = {};
    std::optional<LoggedEffect> effect = {};
    std::optional<std::string_view> writes = {};  // a CBOR array
    std::vector<LoggedInterrupt> answers = {};
    std::optional<LoggedFailure> failure = {};
    std::vector<LoggedInterrupt> interrupts = {};
};

/// Whether an answer to one of the task's questions is kept.
bool isAnswered(const TaskFields& task, const LoggedInterrupt& asked) noexcept;

void writeTask(CheckpointId id, const TaskFields& task, std::string& out);
TaskFields readTask(const RowKey& key, std::string_view bytes);

}  // namespace stategraph::checkpoint
