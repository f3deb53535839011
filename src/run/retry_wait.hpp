#pragma once
#include <chrono>

#include <stategraph/retry.hpp>

namespace stategraph::engine {

/// How long to wait before the attempt after `attempt`.
std::chrono::duration<double, std::milli> retryWait(const RetryPolicy& policy, int attempt);

}  // namespace stategraph::engine
