#pragma once
#include <chrono>
#include <stdexcept>
#include <string>

namespace stategraph::langgraph {

/// A refusal that a client gets as {"detail": text}.
class ApiError : public std::runtime_error {
public:
    ApiError(int status, const std::string& detail) : std::runtime_error(detail), status_(status) {}
    int status() const noexcept { return status_; }

private:
    int status_;
};

/// 422: the request does not make sense.
class InvalidRequest : public ApiError {
public:
    explicit InvalidRequest(const std::string& detail) : ApiError(422, detail) {}
};
/// 429: the client has reached a limit (serve::ClientLimits).
class TooManyRequests : public ApiError {
public:
    explicit TooManyRequests(std::chrono::seconds wait)
        : ApiError(429, "This client has reached its limit; try again in " + std::to_string(wait.count()) + " s"),
          wait_(wait) {}
    std::chrono::seconds wait() const noexcept { return wait_; }

private:
    std::chrono::seconds wait_;
};
/// 404.
class NotFound : public ApiError {
public:
    explicit NotFound(const std::string& detail) : ApiError(404, detail) {}
};

}  // namespace stategraph::langgraph
