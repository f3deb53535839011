#include "serve/handler_stream.hpp"

#include <charconv>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "serve/event_writer.hpp"

namespace stategraph::serve {

namespace {

using Clock = std::chrono::steady_clock;

/// Returns a chunk of HTTP/1.1, or the text itself for clients of HTTP/1.0.
std::string framed(const std::string& text, bool is_chunked) {
    if (!is_chunked) return text;
    char size[16];
    const auto end = std::to_chars(size, size + sizeof size, text.size(), 16).ptr;
    return std::string(size, end).append("\r\n").append(text).append("\r\n");
}

/// Returns an event, in which each line of the data has a field of its own.
std::string eventOf(std::string_view data) {
    std::string event;
    for (;;) {
        const std::size_t end = data.find_first_of("\r\n");
        event.append("data: ").append(data.substr(0, end)).append("\n");
        if (end == std::string_view::npos) return event.append("\n");
        data.remove_prefix(end + 1);
    }
}

/// Checks without waiting whether the client has disconnected. A next request that has already arrived does not count
/// as that.
bool hasGone(Socket& socket) {
    boost::system::error_code error;
    socket.socket().non_blocking(true, error);
    if (error) return true;
    char byte = 0;
    socket.socket().receive(asio::buffer(&byte, 1), asio::ip::tcp::socket::message_peek, error);
    return error && error != asio::error::would_block && error != asio::error::try_again;
}

asio::awaitable<bool> write(std::shared_ptr<Shared> shared, std::shared_ptr<Socket> socket, std::string text) {
    socket->expires_after(shared->options.write_timeout);
    auto [error, size] = co_await asio::async_write(*socket, asio::buffer(text), asio::as_tuple(asio::use_awaitable));
    socket->expires_never();
    co_return !error;
}

asio::awaitable<bool> writeHead(std::shared_ptr<Shared> shared, std::shared_ptr<Socket> socket, const Answer& answer) {
    // The answer itself is serialised, because Beast's copy of a message leaks if it runs out of memory midway.
    http::response_serializer<Answer::body_type> serializer(answer);
    socket->expires_after(shared->options.write_timeout);
    auto [error, size] = co_await http::async_write_header(*socket, serializer, asio::as_tuple(asio::use_awaitable));
    socket->expires_never();
    co_return !error;
}

}  // namespace

asio::awaitable<bool> sendEvents(std::shared_ptr<Shared> shared, std::shared_ptr<Socket> socket, HandlerStream given) {
    HandlerStream stream = std::move(given);
    const bool is_chunked = stream.head.version() >= 11;
    const bool keeps = is_chunked && stream.head.keep_alive();
    stream.head.erase(http::field::content_length);
    stream.head.set(http::field::content_type, "text/event-stream; charset=utf-8");
    stream.head.set(http::field::cache_control, "no-cache, no-transform");
    stream.head.set("X-Accel-Buffering", "no");
    stream.head.keep_alive(keeps);
    if (is_chunked) stream.head.chunked(true);
    bool is_sent = co_await writeHead(shared, socket, stream.head);
    asio::steady_timer timer(socket->get_executor());
    auto last = Clock::now();
    const Streams::Place open(shared->streams);
    while (is_sent && !shared->is_draining && !hasGone(*socket)) {
        std::optional<std::string> data;
        try {
            data = stream.events.next();
        } catch (...) {  // the client sees that the response broke off
            co_return false;
        }
        if (!data) {
            if (is_chunked) is_sent = co_await write(shared, socket, "0\r\n\r\n");
            co_return is_sent&& keeps;
        }
        std::string text;
        if (!data->empty()) {
            text = eventOf(*data);
        } else if (Clock::now() - last >= shared->options.heartbeat) {
            text = ": \n\n";
        }
        if (!text.empty()) {
            is_sent = co_await write(shared, socket, framed(text, is_chunked));
            last = Clock::now();
        }
        timer.expires_after(stream.events.every);
        boost::system::error_code ignored;
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    if (is_sent && shared->is_draining) {
        std::string end = framed(retry_soon, is_chunked);
        if (is_chunked) end += "0\r\n\r\n";
        (void)co_await write(shared, socket, std::move(end));
    }
    co_return false;
}

}  // namespace stategraph::serve
