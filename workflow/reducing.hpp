#pragma once
#include "workflow/execution.hpp"

namespace stategraph::workflow {

/// Adds what an execution has set in the state to the writes of its node: immediately, or, if it runs at the same time
/// as others (`member`, its place among them), for the end of the block. Errors: what a reducer throws.
void putShared(const Plan& plan, const State& state, Executed executed, std::optional<std::int64_t> member,
               Update<State>& update);

/// At the end of a block: what its members have set. Errors: what a reducer throws.
void reduceAdditions(const Plan& plan, const State& state, Update<State>& update);

}  // namespace stategraph::workflow
