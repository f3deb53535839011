#pragma once
#include <functional>

#include <stategraph/error.hpp>

#include "src/run/run.hpp"

namespace stategraph::engine {

/// Returns the saver of a graph that is run at the root, or null if it has none.
BaseCheckpointSaver* saverOf(const detail::Core& core);

/// Checks a call's configuration. The result refers to `config` and `events`. Errors: InvalidArgumentError,
/// MissingCheckpointerError.
RunShared shareRun(const detail::Core& core, const RunConfig& config, Events& events);

/// Returns where a run can keep its state: in its caller's object, if constructing that needs no context and no attempt
/// may outlive the run. Otherwise returns null, which means an object that the run owns.
void* placeOf(const detail::Core& core, const RunShared& shared, void* values) noexcept;

/// Moves a finished run's output into the caller's object.
void giveValues(Run& run, void* values, detail::ChannelSet* present);

void addRunContext(Error& error, const RunConfig& config);

}  // namespace stategraph::engine

namespace stategraph::detail {

/// Runs without an output and without events, if the check does not throw. It is called when the run holds the thread
/// and has read it, before anything is stored or executed.
RunOutcome runIf(const Core& core, RunInput input, const RunConfig& config, engine::RunCheck& check);

}  // namespace stategraph::detail
