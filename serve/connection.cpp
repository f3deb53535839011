#include "serve/connection.hpp"

#include <algorithm>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stategraph/error.hpp>

#include "serve/reply.hpp"
#include "serve/requested.hpp"
#include "serve/run_replay.hpp"

namespace stategraph::serve {

namespace {

constexpr int busy_tries = 5;
constexpr auto busy_pause = std::chrono::milliseconds(2);
// How often a request waits for a run that was asked to stop, such as by the page that sends the request.
constexpr int stopping_tries = 100;
constexpr auto stopping_pause = std::chrono::milliseconds(20);
// The body of a refused request is read up to this size, so that the connection can be used again.
constexpr std::uint64_t refused_body_max = 65536;
// What is read at once, in addition to a whole header.
constexpr std::size_t read_bytes = 65536;

}  // namespace

Connection::Connection(std::shared_ptr<Shared> shared, asio::ip::tcp::socket socket)
    : shared_(std::move(shared)),
      socket_(std::make_shared<Socket>(std::move(socket))),
      buffer_(shared_->options.header_bytes_max + read_bytes) {
    const stategraph::detail::LockGuard lock(shared_->open_mutex);
    place_ = shared_->open.insert(shared_->open.end(), this);
    ++shared_->connections;
}

Connection::~Connection() {
    // The operations for which a response waits share the socket, and may outlive a coroutine that Asio destroyed.
    socket_->close();
    const stategraph::detail::LockGuard lock(shared_->open_mutex);
    shared_->open.erase(place_);
    --shared_->connections;
}

bool Connection::close() noexcept {
    if (is_closing_) return true;
    try {
        asio::post(socket_->get_executor(), [socket = socket_] { socket->close(); });
    } catch (const std::exception&) {  // there is no memory
        return false;
    }
    is_closing_ = true;
    return true;
}

asio::awaitable<void> Connection::serve() {
    const auto self = shared_from_this();
    for (;;) {
        http::request_parser<http::string_body> parser;
        parser.body_limit(shared_->options.body_bytes_max);
        parser.header_limit(static_cast<std::uint32_t>(shared_->options.header_bytes_max));
        socket_->expires_after(shared_->options.request_timeout);
        auto [error, size] =
            co_await http::async_read_header(*socket_, buffer_, parser, asio::as_tuple(asio::use_awaitable));
        // A client that may not send requests cannot make the server keep a large body.
        std::optional<Answer> early = error ? std::optional<Answer>() : answerToHead(parser.get());
        const bool is_unread =
            early && !parser.is_done() && parser.content_length().value_or(UINT64_MAX) > refused_body_max;
        if (!error && !is_unread && !parser.is_done()) {
            auto [unread, rest] =
                co_await http::async_read(*socket_, buffer_, parser, asio::as_tuple(asio::use_awaitable));
            error = unread;
        }
        socket_->expires_never();
        if (error) {
            co_await refuseUnread(error);
            break;
        }
        if (is_unread) early->keep_alive(false);
        const Request request = parser.release();
        bool goes_on = false;
        if (early) {
            goes_on = co_await send(*std::move(early));
        } else {
            goes_on = co_await answer(request);
        }
        if (!goes_on || shared_->is_draining) break;
    }
    boost::system::error_code ignored;
    socket_->socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    socket_->close();
}

asio::awaitable<bool> Connection::answer(const Request& request) {
    std::optional<Reply> made;
    std::exception_ptr failed;
    // A run whose end has been reported is still under way for some microseconds.
    int stopping_left = stopping_tries;
    for (int left = busy_tries; left > 0 && stopping_left > 0 && !made;) {
        std::chrono::milliseconds pause{};
        try {
            made = dispatch(request);
        } catch (const ThreadStoppingError&) {
            failed = std::current_exception();
            pause = --stopping_left > stopping_tries - busy_tries ? busy_pause : stopping_pause;
        } catch (const ThreadBusyError&) {
            failed = std::current_exception();
            pause = busy_pause;
            --left;
        } catch (...) {
            failed = std::current_exception();
        }
        if (pause.count() == 0) break;
        asio::steady_timer wait(socket_->get_executor(), pause);
        boost::system::error_code ignored;
        co_await wait.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    if (made && std::holds_alternative<Answer>(*made)) {
        const bool goes_on = co_await send(std::get<Answer>(std::move(*made)));
        co_return goes_on;
    }
    if (made && std::holds_alternative<HandlerStream>(*made)) {
        const bool goes_on = co_await sendEvents(shared_, socket_, std::get<HandlerStream>(std::move(*made)));
        co_return goes_on;
    }
    if (made && std::holds_alternative<Resumed>(*made)) {
        const Resumed& from = std::get<Resumed>(*made);
        const Replayed replayed = co_await replay(shared_, socket_, *from.protocol, from.run, request);
        if (replayed != Replayed::nothing) co_return replayed == Replayed::all;
        const bool goes_on = co_await send(textAnswer(request, http::status::no_content, json_type, {}));
        co_return goes_on;
    }
    if (made) {
        EventStream stream(shared_, socket_, std::get<EventStream::Source>(std::move(*made)), request);
        made.reset();
        try {
            const bool goes_on = co_await stream.run();
            co_return goes_on;
        } catch (...) {
            failed = std::current_exception();
        }
    }
    const Failure failure = failureOf(failed);
    const bool goes_on = co_await refuse(request, failure.status, failure.text);
    co_return goes_on;
}

asio::awaitable<bool> Connection::refuse(const Request& request, http::status status, const std::string& why) {
    const bool goes_on = co_await send(textAnswer(request, status, json_type, errorJson(why)));
    co_return goes_on;
}

asio::awaitable<bool> Connection::refuseUnread(const boost::system::error_code& error) {
    http::status status = http::status::bad_request;
    if (error == http::error::end_of_stream || error == beast::error::timeout ||
        error == asio::error::operation_aborted || error.category() == asio::error::get_system_category()) {
        co_return false;  // the client has disconnected
    }
    if (error == http::error::body_limit) status = http::status::payload_too_large;
    // Beast limits neither the extensions of chunks nor what follows the last one, but the buffer does.
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
        status = http::status::request_header_fields_too_large;
    Request none;
    none.version(11);
    none.keep_alive(false);
    (void)co_await refuse(none, status, "the request cannot be read: " + error.message());
    co_return false;
}

asio::awaitable<bool> Connection::send(Answer given) {
    const Answer answer = std::move(given);
    socket_->expires_after(shared_->options.write_timeout);
    auto [error, size] = co_await http::async_write(*socket_, answer, asio::as_tuple(asio::use_awaitable));
    socket_->expires_never();
    co_return !error && answer.keep_alive();
}

Answer Connection::textAnswer(const Request& request, http::status status, std::string type, std::string text) const {
    Answer answer(status, request.version());
    answer.set(http::field::content_type, type);
    answer.set(http::field::cache_control, "no-store");
    answer.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : shared_->options.headers) answer.set(name, value);
    if (!shared_->options.allow_origin.empty()) {
        answer.set(http::field::access_control_allow_origin, shared_->options.allow_origin);
        answer.set(http::field::access_control_allow_headers, "content-type, authorization, last-event-id");
        answer.set(http::field::access_control_allow_methods, "GET, POST");
    }
    answer.keep_alive(request.keep_alive() && !shared_->is_draining);
    answer.body() = std::move(text);
    answer.prepare_payload();
    if (request.method() == http::verb::head) answer.body().clear();  // the length stays in the head
    return answer;
}

bool Connection::isAllowedHost(std::string_view host) const {
    const std::vector<std::string>& hosts = shared_->options.hosts;
    if (hosts.empty()) return true;
    const std::size_t bracket = host.find(']');
    const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
    const std::string_view name = host.substr(0, colon);
    return std::find(hosts.begin(), hosts.end(), name) != hosts.end();
}

std::optional<Answer> Connection::answerToHead(const Request& request) const {
    const auto refused = [&](http::status status, const std::string& why) {
        return textAnswer(request, status, json_type, errorJson(why));
    };
    // What Beast does not decode would be taken as the body, or as the next request.
    if (const auto codings = request.count(http::field::transfer_encoding); codings > 0) {
        const bool is_known = codings == 1 && beast::iequals(request[http::field::transfer_encoding], "chunked");
        if (!is_known || request.version() < 11) {
            Answer answer = refused(http::status::bad_request,
                                    "the only transfer coding that this server reads is chunked, in HTTP/1.1");
            answer.keep_alive(false);
            return answer;
        }
    }
    if (request.count(http::field::host) > 1)
        return refused(http::status::bad_request, "the request has several fields Host");
    if (!isAllowedHost(request[http::field::host])) {
        return refused(http::status::misdirected_request,
                       "this server does not answer to that name; see ServerOptions::hosts");
    }
    if (request.method() == http::verb::options && !shared_->options.allow_origin.empty()) {
        return textAnswer(request, http::status::no_content, json_type, {});
    }
    if (!shared_->options.authorize) return {};
    try {
        const int status = shared_->options.authorize(Requested(request));
        if (status == 0) return {};
        return refused(http::int_to_status(static_cast<unsigned>(status)), "the request is not authorized");
    } catch (...) {
        const Failure failure = failureOf(std::current_exception());
        return refused(failure.status, failure.text);
    }
}

}  // namespace stategraph::serve
