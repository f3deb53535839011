#pragma once
#include "workflow/execution.hpp"

namespace stategraph::workflow {

/// Adds what an execution has set in the state to the writes of its node. This happens immediately or, if it runs at
/// the same time as others (`member` is its place among them), at the end of the block. Errors: exceptions of a
/// reducer.
void putShared(const Plan& plan, const State& state, Executed executed, std::optional<std::int64_t> member,
               Update<State>& update);

/// Call it at the end of a block. It reduces what the block's members have set. Errors: exceptions of a reducer.
void reduceAdditions(const Plan& plan, const State& state, Update<State>& update);

/// Returns what an inner workflow has changed. A copy of all values would undo what its siblings have set meanwhile.
Values changesOf(const Plan& plan, const Values& before, Values after);

}  // namespace stategraph::workflow
