#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/stream/commit_events.hpp"

// Which graphs inside the tasks of a superstep visited or called, as the log says.
namespace stategraph::stream {

/// The graphs that nodes called in one superstep of the root, whose results are kept with it.
class EndedCalls {
public:
    EndedCalls(BaseCheckpointSaver& saver, const ThreadId& thread_id, const ListedCheckpoint& root);

    /// The logs of those that a task called, in the order of their keys: `log` is the namespace of the log around it,
    /// `name` the node's stored name. A call that failed, or that never ended, is not among them. Cost: for the first
    /// task of a superstep in which calls ended, a listing of the thread's logs.
    std::vector<std::string> of(std::string_view log, std::string_view name, TaskId task);

private:
    void addBelow(const std::string& prefix, TaskId caller, std::vector<std::string>& found) const;

    BaseCheckpointSaver& saver_;
    ThreadId thread_id_;
    std::set<std::string, std::less<>> results_;    // the paths under which they are kept
    std::optional<std::vector<std::string>> logs_;  // of calls, in their order
};

/// What one task visited: a log, and where its visit is in it.
struct Visit {
    EventLog log;
    StreamPosition::Inside place;  // without the checkpoint
    CheckpointId end;              // the visit's newest commit; none: the log's, as it lived for the one task
};

/// The visits of the superstep that led to a commit, in the order in which their events come. Some may have no commit.
/// Errors: SaverError.
std::vector<Visit> findVisits(const CommitEvents& around, const LedTo& led, const checkpoint::CommitFields& commit,
                              EndedCalls& calls);

}  // namespace stategraph::stream
