#include "serve/handler_stream.hpp"

#include <algorithm>
#include <charconv>
#include <exception>
#include <optional>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "serve/announced.hpp"
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

/// One response of a handler, from its head to its end or until its client disconnects. Its destructor is also called
/// if Asio destroyed the coroutine.
class Sending {
public:
    Sending(std::shared_ptr<Shared> shared, std::shared_ptr<Socket> socket, HandlerStream stream)
        : shared_(std::move(shared)),
          socket_(std::move(socket)),
          stream_(std::move(stream)),
          announced_(std::make_shared<Announced>(socket_->get_executor())),
          open_(shared_->streams),
          heartbeat_(stream_.events.heartbeat.value_or(shared_->options.heartbeat)),
          is_chunked_(stream_.head.version() >= 11) {}
    Sending(const Sending&) = delete;
    Sending& operator=(const Sending&) = delete;
    ~Sending() {
        announced_->end();
        if (has_ended_ || !stream_.events.left) return;
        try {
            stream_.events.left();
        } catch (...) {  // there is nobody who could be told
        }
    }

    asio::awaitable<bool> run() {
        const bool keeps = is_chunked_ && stream_.head.keep_alive();
        writeFields(keeps);
        bool is_sent = co_await writeHead(shared_, socket_, stream_.head);
        if (stream_.events.begin) stream_.events.begin([announced = announced_] { announced->announce(); });
        auto last = Clock::now();
        while (is_sent && !shared_->is_draining && !hasGone(*socket_)) {
            std::optional<std::string> data;
            try {
                data = stream_.events.next();
            } catch (...) {  // the client sees that the response broke off
                has_ended_ = true;
                co_return false;
            }
            if (!data) {
                has_ended_ = true;
                if (is_chunked_) is_sent = co_await write(shared_, socket_, "0\r\n\r\n");
                co_return is_sent&& keeps;
            }
            const std::string text = textOf(*std::move(data), Clock::now() - last);
            if (!text.empty()) {
                is_sent = co_await write(shared_, socket_, framed(text, is_chunked_));
                last = Clock::now();
            }
            if (announced_->take() || (stream_.events.begin && !text.empty())) continue;
            announced_->timer().expires_after(std::min(stream_.events.every, heartbeat_));
            boost::system::error_code ignored;
            co_await announced_->timer().async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        }
        if (is_sent && shared_->is_draining) co_await writeDrained();
        co_return false;
    }

private:
    void writeFields(bool keeps) {
        stream_.head.erase(http::field::content_length);
        if (!stream_.events.is_whole) stream_.head.set(http::field::content_type, "text/event-stream; charset=utf-8");
        stream_.head.set(http::field::cache_control, "no-cache, no-transform");
        stream_.head.set("X-Accel-Buffering", "no");
        stream_.head.keep_alive(keeps);
        if (is_chunked_) stream_.head.chunked(true);
    }
    std::string textOf(std::string data, Clock::duration idle) const {
        if (data.empty()) return idle >= heartbeat_ ? stream_.events.idle_text : std::string();
        return stream_.events.is_whole ? data : eventOf(data);
    }
    asio::awaitable<void> writeDrained() {
        has_ended_ = true;
        if (stream_.events.is_whole) co_return;  // a body that breaks off must not look whole
        std::string end = framed(retry_soon, is_chunked_);
        if (is_chunked_) end += "0\r\n\r\n";
        (void)co_await write(shared_, socket_, std::move(end));
    }

    std::shared_ptr<Shared> shared_;
    std::shared_ptr<Socket> socket_;
    HandlerStream stream_;
    std::shared_ptr<Announced> announced_;
    const Streams::Place open_;
    const std::chrono::milliseconds heartbeat_;
    const bool is_chunked_;
    bool has_ended_ = false;  // otherwise the client has left
};

}  // namespace

asio::awaitable<bool> sendEvents(std::shared_ptr<Shared> shared, std::shared_ptr<Socket> socket, HandlerStream given) {
    Sending sending(std::move(shared), std::move(socket), std::move(given));
    const bool goes_on = co_await sending.run();
    co_return goes_on;
}

}  // namespace stategraph::serve
