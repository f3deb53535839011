#pragma once
#include <deque>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/saver.hpp>

#include "src/checkpoint/due_tasks.hpp"

// The rows of records that are changed where they are stored: answers to questions, questions that are closed. Used by
// a run that takes answers, by the command that stores them, and by edits.
namespace stategraph::engine {

/// The rows of a put. Each is written only if it still is what was read. Used by one thread.
class ChangedRecords {
public:
    /// `changed` are the paths of the records that have changed since the tuple was read. The tuple and
    /// the records must outlive this.
    ChangedRecords(const CheckpointTuple& tuple, const checkpoint::Records& records,
                   const std::set<std::string_view>& changed);

    /// Says at the checkpoint how its last run ended, in a word of src/checkpoint/paths.hpp.
    void noteRun(std::string_view word);
    std::span<const WriteRow> rows() const noexcept { return rows_; }

private:
    const CheckpointTuple& tuple_;
    const checkpoint::Records& records_;
    std::deque<std::string> bytes_;  // of the rows
    std::vector<WriteRow> rows_;
};

}  // namespace stategraph::engine
