#pragma once
#include <exception>

namespace stategraph::detail {

/// Returns whether an exception is one with which the library leaves a node: it asks, sleeps, or its run is stopped. A
/// function that catches everything must throw it on.
bool isPause(const std::exception_ptr& error) noexcept;

}  // namespace stategraph::detail
