#pragma once

namespace stategraph::engine {

/// Returns whether the current thread belongs to an executor or executes an attempt. Work for which such a thread waits
/// must have begun, or the thread must begin it itself. Otherwise all such threads could wait forever for work that
/// only they could begin.
bool servesExecutor() noexcept;

}  // namespace stategraph::engine
