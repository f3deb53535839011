#include "model/http/retrying.hpp"

#include <algorithm>
#include <random>

namespace stategraph::model::http {

using std::chrono::milliseconds;

double randomFraction() {
    thread_local std::minstd_rand engine(std::random_device{}());
    return std::uniform_real_distribution<double>(0, 1)(engine);
}

std::optional<milliseconds> waitBeforeRetry(const ModelError& error, int attempts, const HttpOptions& options,
                                            milliseconds left, double random) {
    if (!error.isRetryable() || attempts > options.max_retries) return {};
    milliseconds wait;
    if (error.retryAfter()) {
        wait = *error.retryAfter();
        if (wait > options.max_retry_wait) return {};
    } else {
        const milliseconds longest = std::min<milliseconds>(std::chrono::seconds(8), options.max_retry_wait);
        const milliseconds doubled(std::int64_t{500} << std::min(attempts - 1, 10));
        wait = std::min(doubled, longest);
        wait -= milliseconds(static_cast<std::int64_t>(static_cast<double>(wait.count()) * random / 4));
    }
    if (wait >= left) return {};
    return wait;
}

}  // namespace stategraph::model::http
