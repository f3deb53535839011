#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/saver.hpp>

#include "src/checkpoint/record.hpp"

// Finds the tasks of a stored checkpoint's superstep by name, with their records. It needs no graph, so threads of
// other programs can be read.
namespace stategraph::checkpoint {

/// A task that was due at a checkpoint.
struct DueTask {
    std::string name;        // the node's name in the log
    std::string shown_name;  // the same name here; a graph may have another
    std::string path;
    const TaskFields* record = nullptr;  // null if nothing is stored about it
    bool finished = false;
    // The payload of the Send that created it; valid as long as its source.
    std::optional<std::string_view> payload = {};
};

/// The records of a checkpoint's superstep, in the order of their paths.
class Records {
public:
    using Record = std::pair<std::string, TaskFields>;

    Records() = default;
    /// The records may be in any order. If several records have one path, the first counts.
    explicit Records(std::vector<Record>&& records);

    /// Returns the record with this path, or null if there is none. Cost: log n comparisons.
    TaskFields* find(std::string_view path) noexcept;
    const TaskFields* find(std::string_view path) const noexcept { return const_cast<Records&>(*this).find(path); }

    bool empty() const noexcept { return records_.empty(); }
    void clear() noexcept { records_.clear(); }
    auto begin() const noexcept { return records_.begin(); }
    auto end() const noexcept { return records_.end(); }
    auto begin() noexcept { return records_.begin(); }
    auto end() noexcept { return records_.end(); }

private:
    std::vector<Record> records_;
};

Records readRecords(const LogName& log, CheckpointId id, const std::vector<StoredWrite>& writes);
inline const TaskFields* findRecord(const Records& records, std::string_view path) noexcept {
    return records.find(path);
}

/// Returns whether the records say that the thread was cancelled at this checkpoint (CompiledGraph::cancelThread).
bool saysCancelled(const Records& records) noexcept;

/// Returns the tasks that are due at a checkpoint: triggered ones by name, then sends. With `latest`, it includes the
/// tasks that a Command added.
std::vector<DueTask> dueTasks(const CommitFields& commit, const Records& records, bool latest);

}  // namespace stategraph::checkpoint
