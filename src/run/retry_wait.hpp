#pragma once
#include <chrono>

#include <stategraph/retry.hpp>

namespace stategraph::engine {

/// The policy that decides about `error`: `first`, or the first of its others that accepts it. Null: none does.
const RetryPolicy* policyFor(const RetryPolicy& first, const std::exception_ptr& error);
/// How long to wait before the attempt after `attempt`.
std::chrono::duration<double, std::milli> retryWait(const RetryPolicy& policy, int attempt);

}  // namespace stategraph::engine
