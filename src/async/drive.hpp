#pragma once
#include <stategraph/task.hpp>

#include "src/run/run.hpp"

// The coroutine that drives a run; Run::drive does the same by blocking.
namespace stategraph::engine {

template <class T = void>
using Async = stategraph::Task<T>;  // engine::Task is a task of a superstep

/// Where the blocking tasks of a superstep may run.
enum class Spread : std::uint8_t {
    usual,      // a single task runs on the driving thread; of several, each runs on the executor
    here,       // the same, but a single one that may be abandoned is awaited, on detail::RunThreads
    elsewhere,  // all run on the executor, because a reader watches meanwhile
};

/// Awaits the run's turn on its thread (OnBusy), for which `Run::takeTurn` would block.
Async<> awaitTurn(RunShared& shared);

/// Reads what the run begins with, before Run::start, if its saver answers later.
Async<> readFirst(Run& run);

/// Runs to the end or a pause. Stores what is to be kept if it throws, or if it is destroyed before its end.
Async<RunOutcome> driveAsync(Run& run, detail::RunInput input);

/// Executes all tasks of a superstep. Each of them ends, and those that cannot be run fail. Tasks that are coroutines
/// begin on this thread, one after the other.
Async<> executeAllAsync(Run& run, Spread spread);
/// Returns whether that would only call Run::executeAll.
bool isAllInline(Run& run, Spread spread = Spread::usual) noexcept;

}  // namespace stategraph::engine
