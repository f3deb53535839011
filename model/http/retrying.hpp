#pragma once
#include <chrono>
#include <optional>

#include <stategraph/model/http_options.hpp>
#include <stategraph/model/model.hpp>

namespace stategraph::model::http {

/// Returns how long to wait before a request is sent again. Returns none if it is not sent again, because the error is
/// permanent, because there were enough attempts, or because the wait would be longer than is allowed or than the
/// remaining time. `attempts` counts those that failed, including this one. If the provider asks for a time, that is
/// used. Otherwise the wait is half a second, doubled with each attempt, at most 8 s. `random`, from 0 to 1, reduces it
/// by up to a quarter, so that clients which failed together do not return together.
std::optional<std::chrono::milliseconds> waitBeforeRetry(const ModelError& error, int attempts,
                                                         const HttpOptions& options, std::chrono::milliseconds left,
                                                         double random);

/// Returns a number from 0 to 1.
double randomFraction();

}  // namespace stategraph::model::http
