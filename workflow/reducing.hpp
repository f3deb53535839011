#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>

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
/// `set_keys` are those that are known to be set (State::set_keys), because a value that is set counts even if it is
/// the one that the key had.
Values changesOf(const Plan& plan, const Values& before, Values after, const std::set<std::string>& set_keys);

}  // namespace stategraph::workflow
