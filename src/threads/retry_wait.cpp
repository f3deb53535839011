#include <stategraph/retry.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "src/threads/fork.hpp"

namespace stategraph {

const RetryPolicy* policyAfter(const RetryPolicy& first, const std::exception_ptr& error, int attempt) {
    const auto ifItAllows = [attempt](const RetryPolicy& policy) {
        return attempt < policy.max_attempts ? &policy : nullptr;
    };
    if (first.otherwise.empty() && ifItAllows(first) == nullptr) return nullptr;
    if (first.retry_on(error)) return ifItAllows(first);
    for (const RetryPolicy& policy : first.otherwise) {
        if (policy.retry_on(error)) return ifItAllows(policy);
    }
    return nullptr;
}

std::chrono::duration<double, std::milli> retryWait(const RetryPolicy& policy, int attempt) {
    auto wait = std::min(policy.max_interval, policy.initial_interval * std::pow(policy.backoff_factor, attempt - 1));
    if (policy.jitter) {
        constexpr double one = 0x1p53;
        wait += wait * (static_cast<double>(engine::randomBits() >> 11U) / one);
    }
    return wait;
}

}  // namespace stategraph
