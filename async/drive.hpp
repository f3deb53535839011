#pragma once
#include <stategraph/task.hpp>

#include "src/run/run.hpp"

// The coroutine that drives a run's state machine, as Run::drive does by blocking.
namespace stategraph::engine {

template <class T = void>
using Async = stategraph::Task<T>;  // engine::Task is one of a superstep

/// Where the tasks of a superstep that block may run.
enum class Spread : std::uint8_t {
    usual,      // one that is alone on the driving thread, of several each on the executor
    elsewhere,  // all on the executor, because a reader watches meanwhile
};

/// What `Run::begin` would block for: the run's turn on its thread (OnBusy).
Async<> awaitTurn(RunShared& shared);

/// Runs to the end or a pause. Stores what is to be kept if it throws, or if it is destroyed half way.
Async<RunOutcome> driveAsync(Run& run, detail::RunInput input);

/// All tasks of a superstep; each of them ends, and those that cannot be run fail. Those that are coroutines begin on
/// this thread, one after the other.
Async<> executeAllAsync(Run& run, Spread spread);
/// Whether that would do nothing but call Run::executeAll.
bool isAllInline(Run& run) noexcept;

}  // namespace stategraph::engine
