#include "src/run/rival_runs.hpp"

namespace stategraph::engine {
namespace {

std::string firstLog(const SnapshotData& at);

std::string firstLogOf(const Config& log, const SnapshotData* inside) {
    std::string first = inside == nullptr ? std::string() : firstLog(*inside);
    if (first.empty()) first = log.checkpoint_ns;
    return first;
}

// Returns the innermost log of the first unfinished task, if that is a subgraph. All processes see tasks in the same
// order, so of two calls the one that began later has the same first log, a later one, or none. Another node may yet
// call graphs, whose logs only calls that begin later would know.
std::string firstLog(const SnapshotData& at) {
    for (const TaskSnapshot& task : at.tasks) {
        if (task.finished) continue;
        return task.state_config ? firstLogOf(*task.state_config, task.state.get()) : std::string();
    }
    return {};
}

bool isOrHolds(const std::string& log, const std::string& inner) {
    return inner.starts_with(log) && (inner.size() == log.size() || inner[log.size()] == '|');
}

}  // namespace

RivalRuns::RivalRuns(const SnapshotData& at) : begun_at_(at.config.checkpoint_id), first_log_(firstLog(at)) {}

bool RivalRuns::resumesAfter(const ConcurrentUpdateError& refused, CheckpointId reached) const {
    const ErrorContext& at = refused.context();
    const bool is_of_log = refused.code() == Errc::concurrent_update && at.checkpoint_id.empty();
    if (!is_of_log || at.checkpoint_ns.empty() || !reached) return false;
    return reached != begun_at_ || first_log_.empty() || !isOrHolds(at.checkpoint_ns, first_log_);
}

}  // namespace stategraph::engine
