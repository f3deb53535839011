#pragma once
#include <string>

#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

// The HTTP types that the server's files share.
namespace stategraph::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

using Request = http::request<http::string_body>;
using Answer = http::response<http::string_body>;
using Socket = beast::tcp_stream;

/// Returns {"error": text}.
std::string errorJson(std::string_view text);
/// The same for an exception. Answers that do not fit the open questions also get "reason", "answered" (whether all of
/// them were given before), "ids" (what they name and is not open) and "pending" (the open questions).
std::string errorJson(const std::exception& error);
/// Returns whether an answer may have this header field: its name must be a token, and its value must have no control
/// characters.
bool isHeader(std::string_view name, std::string_view value) noexcept;
/// The status and the text of a failed call of the library, and the same as the body of an answer.
struct Failure {
    http::status status = http::status::internal_server_error;
    std::string text;
    std::string json;
    /// Whether the text says what the client did wrong, or when it may ask again. Others are for the operator.
    bool is_for_client = true;
};
Failure failureOf(const std::exception_ptr& error);
/// What a client is told of an exception of the program's own functions, whose text may have secrets.
inline constexpr const char* untold_failure = "the server failed to answer";

}  // namespace stategraph::serve
