#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

#include <stategraph/model/model.hpp>

// Interprets the errors of providers.
namespace stategraph::model::http {

/// The origin in error messages: the address without its key, and the key, so that it can be removed from quoted text.
struct Speaker {
    std::string endpoint;
    std::string secret;
    /// What is at the address.
    std::string called = "the model";

    /// Returns an error with the text "the model at ENDPOINT SAYS".
    ModelError error(std::string_view says, ModelError::Details details) const;
};

/// What the header of a refusal contains in addition to its status. Members are empty if they are missing.
struct RefusalHead {
    int status = 0;
    std::string retry_after = {};
    std::string retry_after_ms = {};
    std::string should_retry = {};
    std::string location = {};
};

/// Returns the error for an answer whose status is not 200.
ModelError refusal(const Speaker& speaker, const RefusalHead& head, std::string_view body,
                   std::chrono::system_clock::time_point now);
/// Returns an error that is reported in a stream that began with 200. `error` is the provider's: an object or a text.
ModelError streamedError(const Speaker& speaker, const boost::json::value& error);
/// Returns the error for a stream that ended, or broke, before the answer was complete. The request may be repeated.
ModelError brokenOff(const Speaker& speaker, std::string_view how);

/// Reads the header of that name: seconds, or an HTTP date. Returns none if it is neither. The result is never
/// negative, and at most a day.
std::optional<std::chrono::milliseconds> retryAfter(std::string_view header, std::chrono::system_clock::time_point now);

}  // namespace stategraph::model::http
