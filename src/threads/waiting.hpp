#pragma once

namespace stategraph::engine {

/// Whether this is a thread of an executor, attempts' threads included. What such a thread waits for must have begun,
/// or be begun by itself: if all of them wait for what only they could begin, they wait for ever.
bool servesExecutor() noexcept;

}  // namespace stategraph::engine
