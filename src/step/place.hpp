#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/ids.hpp>
#include <stategraph/saver.hpp>

#include "src/checkpoint/record.hpp"
#include "src/graph/core.hpp"
#include "src/step/task.hpp"

namespace stategraph::engine {

/// Where a run is: in which graph and log, and at which checkpoint and step. Only the run changes it, while none of its
/// tasks runs; so tasks, and the code that reports them, read it on any thread.
struct Place {
    const detail::Core& core;                            // the graph
    std::string_view thread_id;                          // empty if the run has none
    std::string ns;                                      // namespace of the log
    std::vector<std::string> path = {};                  // the names in `ns`, in the form that events have
    std::vector<checkpoint::LoggedParent> parents = {};  // the checkpoints of the outer graphs; they refer to `ns`
    CheckpointId checkpoint = {};                        // the checkpoint whose tasks are next, stored or not
    CheckpointId parent = {};                            // the checkpoint before it in its lineage
    Source source = Source::input;                       // what created it
    std::int64_t step = -1;                              // of the next commit
    CheckpointId head_at_begin = {};                     // of the log

    Place(const detail::Core& graph, std::string_view thread) noexcept : core(graph), thread_id(thread) {}
    /// Constructs the place of a run inside a task of the outer graph, whose log is `log_ns`.
    Place(const detail::Core& graph, const Place& outer, std::string log_ns);
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    LogName log() const noexcept { return {thread_id, ns}; }
    /// Returns whether it is inside another graph's run.
    bool isInside() const noexcept { return !path.empty(); }
    const Topology& topology() const noexcept { return core.topology(); }
    const detail::Schema& schema() const noexcept { return core.schema(); }
    const Node& nodeOf(const Task& task) const noexcept { return topology().nodes[task.planned.node]; }
    /// Returns the task's id, which the first call computes. Call it for a task on one thread at a time.
    TaskId idOf(Task& task) const;
};

}  // namespace stategraph::engine
