#pragma once
#include <string>

#include <stategraph/snapshot.hpp>

#include "workflow/execution.hpp"

namespace stategraph::workflow {

/// Executes a step that is a workflow, with all its attempts, each of which begins from the start. The workflow has
/// failed, suspended or succeeded as the record then says.
Executed executeNested(const Plan& plan, const Place& place, Record& record, const State& state, Runtime& runtime);

/// Returns the newest attempt of a step that is a workflow; null if there is none, or its log is not known. The task's
/// calls are in the order of their names, in which the tenth attempt comes before the second.
const CallSnapshot* newestCall(const TaskSnapshot& task) noexcept;

/// Returns the log of the first workflow inside that has not ended at this checkpoint, at the lowest level; empty if
/// none is due. The checkpoint must have been read with the states of subgraphs.
std::string firstLogOf(const Plan& plan, const SnapshotData& at);

}  // namespace stategraph::workflow
