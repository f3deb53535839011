#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>

#include "serve/announced.hpp"
#include "serve/origin.hpp"
#include "serve/reply.hpp"
#include "serve/requested.hpp"

// WebSockets with which a program's handlers answer.
namespace stategraph::serve {

namespace websocket = beast::websocket;

namespace {

// How often a conversation looks whether the server drains, if nothing happens.
constexpr auto socket_patience = std::chrono::seconds(1);
// Codes of the end, beside those of the protocol: 4000 and the HTTP status that the request would have had.
constexpr std::uint16_t too_many = 4429;

/// The WebSocket of a connection. Operations on it do not own it: Beast keeps those that wait for another one inside
/// the stream, which would then own itself.
struct Line : std::enable_shared_from_this<Line> {
    Line(std::shared_ptr<Socket> below, const ServerOptions& options)
        : socket(std::move(below)), stream(*socket), announced(std::make_shared<Announced>(socket->get_executor())) {
        socket->expires_never();  // the WebSocket has times of its own
        stream.set_option(websocket::stream_base::timeout{
            .handshake_timeout = options.write_timeout,
            .idle_timeout = options.write_timeout + options.heartbeat,
            .keep_alive_pings = true,
        });
        stream.read_message_max(options.body_bytes_max);
        stream.text(true);
    }

    /// Has the next message of the client read, and announces it.
    void read() {
        stream.async_read(message, [read = weak_from_this()](const boost::system::error_code& error, std::size_t) {
            const std::shared_ptr<Line> line = read.lock();
            if (!line) return;
            (error ? line->has_gone : line->has_message) = true;
            line->announced->announce();
        });
    }

    const std::shared_ptr<Socket> socket;
    websocket::stream<Socket&> stream;
    const std::shared_ptr<Announced> announced;
    beast::flat_buffer message;
    bool has_message = false;
    bool has_gone = false;
};

asio::awaitable<bool> write(std::shared_ptr<Line> line, std::string text) {
    auto [error, size] = co_await line->stream.async_write(asio::buffer(text), asio::as_tuple(asio::use_awaitable));
    co_return !error;
}

asio::awaitable<void> hangUp(std::shared_ptr<Line> line, websocket::close_reason why) {
    boost::system::error_code ignored;
    co_await line->stream.async_close(why, asio::redirect_error(asio::use_awaitable, ignored));
}

/// Ends what a conversation has begun, however it ends.
class Ending {
public:
    explicit Ending(std::shared_ptr<Line> line) noexcept : line_(std::move(line)) {}
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    ~Ending() {
        line_->announced->end();
        line_->socket->close();
    }

private:
    std::shared_ptr<Line> line_;
};

}  // namespace

Connection::Reply Connection::talkOf(const Request& request, const Asked& asked, HandlerSocket socket) const {
    if (!websocket::is_upgrade(request)) {
        Answer answer = textAnswer(request, http::status::upgrade_required, json_type,
                                   errorJson("this path is a WebSocket; ask for an upgrade of the connection"));
        answer.set(http::field::upgrade, "websocket");
        return answer;
    }
    // Browsers let any page open a WebSocket, with the cookies of the server.
    if (isForeign(request, shared_->options.origins)) {
        return textAnswer(request, http::status::forbidden, json_type,
                          errorJson("a page of another origin may not send this request; see ServerOptions::origins"));
    }
    Held::Place place;
    if (auto refused = refusalOfStream(request, asked, place)) return *std::move(refused);
    return HandlerTalk{std::move(socket), std::move(place)};
}

asio::awaitable<void> Connection::talk(const Request& request, const Asked& asked, HandlerTalk talk) {
    const auto line = std::make_shared<Line>(socket_, shared_->options);
    const Ending ending(line);
    const Streams::Place open(shared_->streams);
    status_ = static_cast<int>(http::status::switching_protocols);
    auto [refused] = co_await line->stream.async_accept(request, asio::as_tuple(asio::use_awaitable));
    if (refused) co_return;
    const Requested view(request, asked);
    const auto begins = asked.route.segments.begin();
    HandlerRequest message{
        view, {begins + 1, asked.route.segments.end()}, asked.route.query, {}, asked.route.lists, asked.identity};
    line->read();
    if (talk.socket.begin) talk.socket.begin([announced = line->announced] { announced->announce(); });
    websocket::close_reason why(websocket::close_code::going_away);
    while (!shared_->is_draining && !line->has_gone) {
        std::optional<std::string> text;
        try {
            if (std::exchange(line->has_message, false)) {
                if (!line->stream.got_text()) {
                    why = websocket::close_code::unknown_data;
                    break;
                }
                if (refusalByRates(request, asked, false)) {
                    why = websocket::close_reason(static_cast<websocket::close_code>(too_many), "too many requests");
                    break;
                }
                const std::string body = beast::buffers_to_string(line->message.data());
                line->message.clear();
                line->message.shrink_to_fit();
                message.body = body;
                talk.socket.take(message);
                message.body = {};
                line->read();
            }
            text = talk.socket.next();
        } catch (const std::exception&) {
            why = websocket::close_code::internal_error;
            break;
        }
        if (!text) {
            why = websocket::close_code::try_again_later;
            break;
        }
        if (!text->empty()) {
            const bool is_sent = co_await write(line, *std::move(text));
            if (!is_sent) break;
            continue;
        }
        if (line->announced->take() || line->has_message) continue;
        line->announced->timer().expires_after(socket_patience);
        boost::system::error_code ignored;
        co_await line->announced->timer().async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    if (!line->has_gone) co_await hangUp(line, why);
}

}  // namespace stategraph::serve
