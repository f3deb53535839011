#pragma once
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/detail/node.hpp>
#include <stategraph/failure.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/runtime.hpp>

#include "src/commit/ids.hpp"
#include "src/commit/visit.hpp"
#include "src/superstep/schedule.hpp"
#include "src/superstep/task_context.hpp"

namespace stategraph::engine {

class Run;

/// What is kept of a task beside what it wrote; it outlives attempts, pauses and processes.
struct TaskRecord {
    std::optional<std::string> error;
    std::vector<Interrupt> interrupts;
    /// By id and index; for a subgraph's node those of the tasks inside.
    std::vector<Interrupt> answers;
    /// Why the node's error handler has taken over.
    std::optional<NodeFailure> failure;
    bool stored = false;

    bool isOpen(const Interrupt& interrupt) const noexcept;
    bool empty() const noexcept { return !error && interrupts.empty() && answers.empty() && !failure; }
};

enum class TaskStatus : std::uint8_t {
    todo,
    restored,     // finished by an earlier run
    finished,
    failed,
    interrupted,  // or stopped at a breakpoint inside a subgraph: then without interrupts
    stopped,      // the run is to end
    to_parent,    // returned a Command for the graph around this one
};

/// One task of the superstep under way.
struct Task {
    PlannedTask planned;
    TaskStatus status = TaskStatus::todo;
    int attempt = 1;  // the one under way, or the last
    detail::TaskResult result;
    Routes routes;
    TaskRecord record;
    std::exception_ptr failure;
    std::vector<Interrupt> asked;  // what it stopped at this time
    std::optional<std::int64_t> wake_unix_ms;  // it sleeps until then
    TaskId id;                     // made when somebody needs it
    std::optional<IdSequence> inner_ids;
    bool is_cached = false;        // its result is from the cache
    std::unique_ptr<Visit> visit;  // of a subgraph whose logs have keys
    bool leads_flight = false;     // equal tasks wait for it

    /// For the next superstep.
    void reset(const PlannedTask& planned_task);
};

}  // namespace stategraph::engine
