#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <stategraph/model/model.hpp>
#include <stategraph/task.hpp>

#include "model/http/http_client.hpp"
#include "model/http/http_stream.hpp"
#include "model/http/retrying.hpp"
#include "model/http/stopping.hpp"

namespace stategraph::model::http {

/// Calls `once` until it does not fail, as the client's limits allow, and waits in between. `may_repeat` is asked after
/// a failure. All arguments must live until the task has ended. Errors: the last one, with the number of the attempt;
/// CancelledError.
template <class T>
Task<T> repeated(const HttpClient& client, Stopping& stopping, std::chrono::steady_clock::time_point deadline,
                 const std::function<Task<T>()>& once, const std::function<bool()>& may_repeat) {
    const HttpOptions& limits = client.limits;
    for (int attempts = 1;; ++attempts) {
        std::optional<ModelError> error;
        try {
            Task<T> tried = once();
            T value = co_await std::move(tried);
            co_return value;
        } catch (const ModelError& failed) {
            error = failed;
        }
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        std::optional<std::chrono::milliseconds> wait;
        if (may_repeat()) wait = waitBeforeRetry(*error, attempts, limits, left, randomFraction());
        if (!wait) {
            std::string text = error->what();
            if (attempts > 1) text += " (attempt " + std::to_string(attempts) + ")";
            throw ModelError(text, {.status = error->status(),
                                    .is_retryable = error->isRetryable(),
                                    .retry_after = error->retryAfter(),
                                    .is_exhausted = limits.max_retries > 0 && may_repeat()});
        }
        co_await pause(*wait, stopping);
    }
}

}  // namespace stategraph::model::http
