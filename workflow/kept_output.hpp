#pragma once
#include <optional>

#include "workflow/plan.hpp"

namespace stategraph::workflow {

/// Returns a step's earlier output for an equal input. Returns none if it is not in the cache, or if the cache failed.
std::optional<Value> keptOutput(const Plan& plan, const Place& place, const Value& input) noexcept;
/// Stores the output, if the step is cached. Failures of the cache are ignored.
void keepOutput(const Plan& plan, const Place& place, const Value& input, const Value& output) noexcept;

}  // namespace stategraph::workflow
