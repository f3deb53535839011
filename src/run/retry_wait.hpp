#pragma once
#include <stategraph/retry.hpp>

namespace stategraph::engine {

/// How long to wait before the attempt after `attempt`.
double retryWaitMs(const RetryPolicy& policy, int attempt);

}  // namespace stategraph::engine
