#pragma once
#include <chrono>

#include <boost/json.hpp>

#include <stategraph/serve/log.hpp>

#include "serve/asked.hpp"

// The lines of the log (stategraph/serve/log.hpp).
namespace stategraph::serve {

/// Who asks for what: the members of a line that requests and runs have in common.
boost::json::object askedAs(const Asked& asked);
/// Adds the time, in milliseconds since 1970, and gives the line to the hook, which may be null. It throws nothing.
void tell(const Log& log, const char* event, boost::json::object line) noexcept;
/// Milliseconds with three places.
double millisecondsOf(std::chrono::steady_clock::duration time) noexcept;

}  // namespace stategraph::serve
