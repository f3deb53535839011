#include "src/run/retry_wait.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace stategraph::engine {

double retryWaitMs(const RetryPolicy& policy, int attempt) {
    double ms = std::min(policy.max_interval_ms, policy.initial_interval_ms * std::pow(policy.backoff_factor, attempt - 1));
    if (policy.jitter) {
        thread_local std::minstd_rand generator{std::random_device{}()};
        ms += std::uniform_real_distribution<double>(0, ms)(generator);
    }
    return ms;
}

}  // namespace stategraph::engine
