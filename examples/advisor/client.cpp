#include "client.hpp"

#include <stdexcept>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json/parse.hpp>

namespace advisor {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

/// Calls `take` with the body whenever more of it has arrived. `take` erases what it has handled.
void exchange(std::uint16_t port, http::verb verb, const std::string& target, const std::string& body,
              const std::function<void(std::string& text)>& take) {
    asio::io_context io;
    asio::ip::tcp::socket socket(io);
    socket.connect({asio::ip::address_v4::loopback(), port});
    http::request<http::string_body> request(verb, target, 11);
    request.set(http::field::host, "localhost");
    request.set(http::field::content_type, "application/json");
    request.body() = body;
    request.prepare_payload();
    http::write(socket, request);

    boost::beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    http::read_header(socket, buffer, parser);
    std::string& text = parser.get().body();
    const bool is_ok = parser.get().result() == http::status::ok;
    while (!parser.is_done()) {
        http::read_some(socket, buffer, parser);
        if (is_ok) take(text);
    }
    if (!is_ok) throw std::runtime_error(target + " is refused: " + text);
}

}  // namespace

std::string Client::get(const std::string& target) const {
    std::string all;
    exchange(port_, http::verb::get, target, {}, [&](std::string& text) { all = text; });
    return all;
}

std::string Client::post(const std::string& target, const std::string& body) const {
    std::string all;
    exchange(port_, http::verb::post, target, body, [&](std::string& text) { all = text; });
    return all;
}

void Client::postForLines(const std::string& target, const std::string& body,
                          const std::function<void(const boost::json::object&)>& take) const {
    exchange(port_, http::verb::post, target, body, [&](std::string& text) {
        for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
            if (end > 0) take(boost::json::parse(text.substr(0, end)).as_object());
            text.erase(0, end + 1);
        }
    });
}

}  // namespace advisor
