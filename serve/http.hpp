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
/// Returns whether an answer may have this header field: its name must be a token, and its value must have no control
/// characters.
bool isHeader(std::string_view name, std::string_view value) noexcept;
/// The status and the text of a failed call of the library.
struct Failure {
    http::status status = http::status::internal_server_error;
    std::string text;
};
Failure failureOf(const std::exception_ptr& error);

}  // namespace stategraph::serve
