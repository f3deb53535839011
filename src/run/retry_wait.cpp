#include "src/run/retry_wait.hpp"

#include <algorithm>
#include <cmath>

#include "src/fork.hpp"

namespace stategraph::engine {

const RetryPolicy* policyFor(const RetryPolicy& first, const std::exception_ptr& error) {
    if (first.retry_on(error)) return &first;
    for (const RetryPolicy& policy : first.otherwise) {
        if (policy.retry_on(error)) return &policy;
    }
    return nullptr;
}

double retryWaitMs(const RetryPolicy& policy, int attempt) {
    double ms = std::min(policy.max_interval_ms, policy.initial_interval_ms * std::pow(policy.backoff_factor, attempt - 1));
    if (policy.jitter) {
        constexpr double one = 0x1p53;
        ms += ms * (static_cast<double>(randomBits() >> 11U) / one);
    }
    return ms;
}

}  // namespace stategraph::engine
