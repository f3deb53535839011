#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

#include <stategraph/model/model.hpp>

// What providers' refusals mean.
namespace stategraph::model::http {

/// The origin for error messages: the address without its key, and the key, so that it is removed from quoted text.
struct Speaker {
    std::string endpoint;
    std::string secret;

    /// "the model at ENDPOINT SAYS", as an error.
    ModelError error(std::string_view says, ModelError::Details details) const;
};

/// What the header of a refusal says in addition to its status; empty: nothing.
struct RefusalHead {
    int status = 0;
    std::string retry_after = {};
    std::string retry_after_ms = {};
    std::string should_retry = {};
    std::string location = {};
};

/// An answer that is not 200.
ModelError refusal(const Speaker& speaker, const RefusalHead& head, std::string_view body,
                   std::chrono::system_clock::time_point now);
/// An error that is reported in a stream that began with 200. `error` is the provider's: an object or a text.
ModelError streamedError(const Speaker& speaker, const boost::json::value& error);
/// A stream that ended, or broke, before the answer was whole. It may be asked for again.
ModelError brokenOff(const Speaker& speaker, std::string_view how);

/// The header of that name: seconds, or a date of HTTP's. None: it is neither. Never negative, and at most a day.
std::optional<std::chrono::milliseconds> retryAfter(std::string_view header, std::chrono::system_clock::time_point now);

}  // namespace stategraph::model::http
