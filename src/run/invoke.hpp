#pragma once
#include <stategraph/error.hpp>

#include "src/run/run.hpp"

namespace stategraph::engine {

/// The saver of a graph that is run at the root; null without one.
BaseCheckpointSaver* saverOf(const detail::Core& core);

/// Checks a call's configuration. It refers to `config` and `events`. Errors: InvalidArgumentError,
/// MissingCheckpointerError.
RunShared shareRun(const detail::Core& core, const RunConfig& config, Events& events);

/// Where a run can keep its state: in its caller's object, if that needs no context for its construction and no attempt
/// may outlive the run; otherwise null: in an object of its own.
void* placeOf(const detail::Core& core, const RunShared& shared, void* values) noexcept;

/// Moves a finished run's output into the caller's object.
void giveValues(Run& run, void* values, detail::ChannelSet* present);

void addRunContext(Error& error, const RunConfig& config);

}  // namespace stategraph::engine
