#pragma once
#include <cstdint>
#include <exception>

#include <stategraph/detail/chrono.hpp>

namespace stategraph {

/// Whether a failed attempt is worth another: not for mistakes in code or calls (std::logic_error, this library's errors)
/// or memory (std::bad_alloc), yes for the rest, and for an attempt that was abandoned because it took too long (NodeTimeoutError).
bool isRetryable(const std::exception_ptr& error);

/// How often a node is tried. Attempts of a task follow each other within its superstep, on its thread; what a failed attempt wrote
/// is dropped. The wait before attempt n + 1 is initial_interval × backoff_factor^(n − 1), at most max_interval, and with
/// jitter up to as much again.
struct RetryPolicy {
    /// Attempts in all; at least 1. The default is not to retry.
    int max_attempts = 1;
    std::chrono::duration<double, std::milli> initial_interval = std::chrono::milliseconds(500);
    double backoff_factor = 2;
    std::chrono::duration<double, std::milli> max_interval = std::chrono::seconds(128);
    bool jitter = true;
    bool (*retry_on)(const std::exception_ptr& error) = &isRetryable;
    /// What a node has that says nothing of retries (NodeOptions): unless another field is set, the graph's node defaults count, if it has any.
    bool by_default = false;

    friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

}  // namespace stategraph
