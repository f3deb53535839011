#include "src/run/rival_runs.hpp"

namespace stategraph::engine {
namespace {

std::string firstLog(const SnapshotData& at);

std::string firstLogOf(const Config& log, const SnapshotData* inside) {
    std::string first = inside == nullptr ? std::string() : firstLog(*inside);
    if (first.empty()) first = log.checkpoint_ns;
    return first;
}

// Returns the innermost log of the first unfinished task that has one. All processes see tasks in the same order.
std::string firstLog(const SnapshotData& at) {
    for (const TaskSnapshot& task : at.tasks) {
        if (task.finished) continue;
        if (task.state_config) return firstLogOf(*task.state_config, task.state.get());
        if (!task.calls.empty()) return firstLogOf(task.calls.back().state_config, task.calls.back().state.get());
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
