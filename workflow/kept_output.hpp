#pragma once
#include <optional>

#include "workflow/plan.hpp"

namespace stategraph::workflow {

/// A step's output for an equal input, from before. None: it is not kept, or the cache failed.
std::optional<Value> keptOutput(const Plan& plan, const Place& place, const Value& input) noexcept;
/// Stores it, if the step is cached. Failures of the cache are ignored.
void keepOutput(const Plan& plan, const Place& place, const Value& input, const Value& output) noexcept;

}  // namespace stategraph::workflow
