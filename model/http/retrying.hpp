#pragma once
#include <chrono>
#include <optional>

#include <stategraph/model/http_options.hpp>
#include <stategraph/model/model.hpp>

namespace stategraph::model::http {

/// How long to wait before a request is sent again; none: it is not, because the error will not pass, there were enough
/// attempts, or the wait would be longer than is allowed or than the time that is left. `attempts`: those that failed,
/// this one included. The provider's own wish counts; else it is half a second, doubled with each attempt, at most 8 s.
/// `random`, from 0 to 1, takes up to a quarter of that off, so that clients which failed together do not come back
/// together.
std::optional<std::chrono::milliseconds> waitBeforeRetry(const ModelError& error, int attempts,
                                                         const HttpOptions& options, std::chrono::milliseconds left,
                                                         double random);

}  // namespace stategraph::model::http
