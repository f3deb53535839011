#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/saver.hpp>

#include "checkpoint/record.hpp"

// The tasks of a stored checkpoint's superstep by name, with their records. It needs no graph, so threads of other programs can be read.
namespace stategraph::checkpoint {

/// A task that was due at a checkpoint.
struct DueTask {
    std::string name;        // the node's in the log
    std::string shown_name;  // the same here; a graph may have another
    std::string path;
    const TaskFields* record = nullptr;  // null: nothing is kept of it
    bool finished = false;
    std::optional<std::string_view> payload = {};  // of the Send that made it; lives as long as what it was read from
};

/// The records of a checkpoint's superstep, by path.
using Records = std::vector<std::pair<std::string, TaskFields>>;
Records readRecords(const LogName& log, CheckpointId id, const std::vector<StoredWrite>& writes);
const TaskFields* findRecord(const Records& records, std::string_view path);

/// The tasks due at a checkpoint, triggered ones by name, then sends. `latest`: with those that a Command added.
std::vector<DueTask> dueTasks(const CommitFields& commit, const Records& records, bool latest);

}  // namespace stategraph::checkpoint
