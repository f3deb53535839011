#pragma once
#include <string>

#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

// The types of HTTP that the server's files share.
namespace stategraph::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

using Request = http::request<http::string_body>;
using Answer = http::response<http::string_body>;
using Socket = beast::tcp_stream;

/// {"error": text}
std::string errorJson(std::string_view text);
/// Whether an answer may have this header field: its name is a token, and its value has no control characters.
bool isHeader(std::string_view name, std::string_view value) noexcept;
/// The status of what a library's call failed with, and its text.
struct Failure {
    http::status status = http::status::internal_server_error;
    std::string text;
};
Failure failureOf(const std::exception_ptr& error);

}  // namespace stategraph::serve
