#pragma once
#include <chrono>

#include <stategraph/retry.hpp>

namespace stategraph::engine {

/// The policy by which another attempt follows the failed one, number `attempt`: `first`, or the first of its others that accepts the error.
/// Null: none follows. Predicates are not called if no policy leaves an attempt. Throws what a predicate throws.
const RetryPolicy* policyAfter(const RetryPolicy& first, const std::exception_ptr& error, int attempt);
/// How long to wait before the attempt after `attempt`.
std::chrono::duration<double, std::milli> retryWait(const RetryPolicy& policy, int attempt);

}  // namespace stategraph::engine
