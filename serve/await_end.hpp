#pragma once
#include <atomic>

#include <boost/asio/awaitable.hpp>

#include "serve/http.hpp"
#include "serve/run_table.hpp"

namespace stategraph::serve {

/// Waits until the run counts as ended, for a minute at most. A run whose end has been reported counts as under way for
/// some microseconds, and a client that knows of the end may begin the next run. Returns earlier if `has_gone` becomes
/// true (null: it does not).
asio::awaitable<void> awaitEnd(const ActiveRun& run, const std::atomic<bool>* has_gone = nullptr);

}  // namespace stategraph::serve
