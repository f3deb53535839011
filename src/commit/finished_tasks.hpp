#pragma once
#include <span>

#include "src/checkpoint/due_tasks.hpp"
#include "src/superstep/apply.hpp"
#include "src/superstep/schedule.hpp"

namespace stategraph::engine {

/// Applies to a state and to its schedule what the finished tasks of a superstep that will not end have produced, so
/// that what follows instead (new input, an edit) loses none of it: their writes, their routes, and the progress of
/// joins. `due` are the tasks of the superstep, and `records` what is stored of them. Nodes to which they lead and that
/// no longer exist are left out. Returns whether any task had finished; the next commit must then hold the whole state.
/// Errors: InvalidUpdateError if their writes conflict, and those of `restoreResult`; then nothing is applied.
bool applyFinished(const Topology& topology, const checkpoint::Records& records, std::span<const PlannedTask> due,
                   State& state, Schedule& schedule);

}  // namespace stategraph::engine
