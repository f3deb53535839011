#include "serve/connection.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>

#include <time.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stategraph/error.hpp>

#include "serve/origin.hpp"
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
// A larger body is read on a thread of its own.
constexpr std::size_t quick_body_max = 16384;
// A client has ServerOptions::write_timeout once more for each part of an answer that has as many bytes.
constexpr std::size_t timed_part = 1U << 20U;

bool isLarge(const Request& request) { return request.body().size() > quick_body_max; }

std::string addressOf(const asio::ip::tcp::socket& socket) {
    boost::system::error_code gone;
    const auto remote = socket.remote_endpoint(gone);
    return gone ? std::string() : remote.address().to_string();
}

}  // namespace

Connection::Connection(std::shared_ptr<Shared> shared, asio::ip::tcp::socket socket, Held::Place place)
    : shared_(std::move(shared)),
      socket_(std::make_shared<Socket>(std::move(socket))),
      held_(std::move(place)),
      remote_(addressOf(socket_->socket())),
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
        const auto began = std::chrono::steady_clock::now();
        status_ = 0;
        // A client that may not send requests cannot make the server keep a large body.
        Asked asked;
        asked.remote = remote_;
        std::optional<Answer> early = error ? std::optional<Answer>() : answerToHead(parser.get(), asked);
        const bool is_unread =
            early && !parser.is_done() && parser.content_length().value_or(UINT64_MAX) > refused_body_max;
        if (!error && !is_unread && !parser.is_done()) {
            // In small pieces, a large body would take many turns of the thread that others' connections share.
            const bool is_large = parser.content_length().value_or(UINT64_MAX) > quick_body_max;
            if (is_large) buffer_.reserve(read_bytes);
            auto [unread, rest] =
                co_await http::async_read(*socket_, buffer_, parser, asio::as_tuple(asio::use_awaitable));
            error = unread;
        }
        socket_->expires_never();
        if (buffer_.size() == 0 && buffer_.capacity() > quick_body_max) buffer_.shrink_to_fit();
        if (error) {
            co_await refuseUnread(error);
            if (status_ != 0) {
                (void)refusalByRates(parser.get(), asked, true);
                report(parser.get(), asked, began);
            }
            break;
        }
        const Streams::Answering answering(shared_->streams);
        if (is_unread) early->keep_alive(false);
        const Request request = parser.release();
        if (!early && asked.isConversation()) {
            if (isLarge(request)) {
                co_await aside([&] { asked.readConversation(request); });
            } else {
                asked.readConversation(request);
            }
            early = refusalByHook(request, asked);
        }
        if (auto late = refusalByRates(request, asked, early.has_value())) {
            late->keep_alive(late->keep_alive() && !is_unread);
            early = std::move(late);
        }
        Held::Place stream;
        if (!early && !asked.handler) early = refusalOfStream(request, asked, stream);
        bool goes_on = false;
        if (early) {
            goes_on = co_await send(*std::move(early));
        } else {
            goes_on = co_await answer(request, asked);
        }
        report(request, asked, began);
        if (!goes_on || shared_->is_draining) break;
    }
    boost::system::error_code ignored;
    socket_->socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    socket_->close();
}

namespace {

/// Returns the processor time that the calling thread has used.
std::chrono::nanoseconds usedTime() noexcept {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

/// Has the thread for large bodies rest after this one, however it ends.
class Resting {
public:
    explicit Resting(Shared& shared) noexcept : shared_(shared) {}
    Resting(const Resting&) = delete;
    Resting& operator=(const Resting&) = delete;
    ~Resting() { shared_.rests_until = std::chrono::steady_clock::now() + 3 * (usedTime() - began_); }

private:
    Shared& shared_;
    const std::chrono::nanoseconds began_ = usedTime();
};

}  // namespace

template <class Work>
asio::awaitable<void> Connection::aside(Work work) {
    const auto call = [this, &work]() -> asio::awaitable<void> {
        std::this_thread::sleep_until(shared_->rests_until);
        if (shared_->has_ended) throw InvalidUpdateError("the server is ending");
        const Resting resting(*shared_);
        work();
        co_return;
    };
    co_await asio::co_spawn(shared_->large_bodies, call, asio::use_awaitable);
}

asio::awaitable<std::optional<Connection::Reply>> Connection::replyTo(const Request& request, const Asked& asked,
                                                                      std::exception_ptr& failure) {
    std::optional<Reply> made;
    // A run whose end has been reported is still under way for some microseconds.
    int stopping_left = stopping_tries;
    for (int left = busy_tries; left > 0 && stopping_left > 0 && !made;) {
        std::chrono::milliseconds pause{};
        try {
            // A handler's own time is not for the others' bodies.
            if (isLarge(request) && !asked.handler) {
                co_await aside([&] { made = dispatch(request, asked); });
            } else {
                made = dispatch(request, asked);
            }
        } catch (const ThreadStoppingError&) {
            failure = std::current_exception();
            pause = --stopping_left > stopping_tries - busy_tries ? busy_pause : stopping_pause;
        } catch (const ThreadBusyError&) {
            failure = std::current_exception();
            pause = busy_pause;
            --left;
        } catch (...) {
            failure = std::current_exception();
        }
        if (pause.count() == 0) break;
        asio::steady_timer wait(socket_->get_executor(), pause);
        boost::system::error_code ignored;
        co_await wait.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    co_return made;
}

asio::awaitable<bool> Connection::answer(const Request& request, const Asked& asked) {
    std::exception_ptr failure;
    std::optional<Reply> made = co_await replyTo(request, asked, failure);
    if (made && std::holds_alternative<Answer>(*made)) {
        const bool goes_on = co_await send(std::get<Answer>(std::move(*made)));
        co_return goes_on;
    }
    if (made && std::holds_alternative<Ready>(*made)) {
        Answer ready_answer = co_await ready(request);
        const bool goes_on = co_await send(std::move(ready_answer));
        co_return goes_on;
    }
    if (made && std::holds_alternative<Later>(*made)) {
        const bool goes_on = co_await sendLater(std::get<Later>(*made).is_due, std::get<Later>(*made).answer);
        co_return goes_on;
    }
    if (made && std::holds_alternative<HandlerStream>(*made)) {
        status_ = 200;
        const bool goes_on = co_await sendEvents(shared_, socket_, std::get<HandlerStream>(std::move(*made)));
        co_return goes_on;
    }
    if (made && std::holds_alternative<HandlerTalk>(*made)) {
        co_await talk(request, asked, std::get<HandlerTalk>(std::move(*made)));
        co_return false;
    }
    if (made && std::holds_alternative<Resumed>(*made)) {
        const Resumed& from = std::get<Resumed>(*made);
        status_ = 200;
        const Replayed replayed = co_await replay(shared_, socket_, *from.protocol, from.run, request);
        if (replayed != Replayed::nothing) co_return replayed == Replayed::all;
        const bool goes_on = co_await send(textAnswer(request, http::status::no_content, json_type, {}));
        co_return goes_on;
    }
    if (made) {
        EventStream stream(shared_, socket_, std::get<EventStream::Source>(std::move(*made)), request);
        made.reset();
        status_ = 200;
        try {
            const bool goes_on = co_await stream.run();
            co_return goes_on;
        } catch (...) {
            failure = std::current_exception();
        }
    }
    const bool goes_on = co_await send(failed(request, asked, failure));
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
    status_ = static_cast<int>(answer.result_int());
    const auto parts = static_cast<std::int64_t>(1 + answer.body().size() / timed_part);
    socket_->expires_after(shared_->options.write_timeout * parts);
    auto [error, size] = co_await http::async_write(*socket_, answer, asio::as_tuple(asio::use_awaitable));
    socket_->expires_never();
    co_return !error && answer.keep_alive();
}

Answer Connection::textAnswer(const Request& request, http::status status, std::string type, std::string text) const {
    Answer answer(status, request.version());
    answer.set(http::field::content_type, type);
    answer.set(http::field::cache_control, "no-store");
    answer.set("X-Content-Type-Options", "nosniff");
    if (status == http::status::service_unavailable) answer.set(http::field::retry_after, "1");
    for (const auto& [name, value] : shared_->options.headers) answer.set(name, value);
    allowOrigin(request, shared_->options.origins, answer);
    answer.keep_alive(request.keep_alive() && !shared_->is_draining);
    answer.body() = std::move(text);
    answer.prepare_payload();
    if (request.method() == http::verb::head) answer.body().clear();  // the length stays in the head
    return answer;
}

bool Connection::isAllowedHost(std::string_view host) const {
    const std::vector<std::string>& hosts = shared_->options.hosts;
    const std::size_t bracket = host.find(']');
    const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
    const std::string_view name = host.substr(0, colon);
    const auto is_name = [&](const std::string& each) { return each == "*" || beast::iequals(each, name); };
    if (!hosts.empty()) return std::any_of(hosts.begin(), hosts.end(), is_name);
    // A page of somebody else's cannot be at an address.
    const bool is_v6 = name.starts_with('[') && name.ends_with(']');
    boost::system::error_code wrong;
    asio::ip::make_address(is_v6 ? name.substr(1, name.size() - 2) : name, wrong);
    return !wrong || beast::iequals(name, "localhost");
}

std::optional<Answer> Connection::answerToHead(const Request& request, Asked& asked) const {
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
    const auto remote = shared_->proxies.clientOf(remote_, request);
    asked.remote = remote.value_or(remote_);
    if (!remote) {
        return refused(http::status::bad_request,
                       "X-Forwarded-For and Forwarded name different clients; let the proxy remove one of them");
    }
    if (request.count(http::field::host) > 1)
        return refused(http::status::bad_request, "the request has several fields Host");
    if (!isAllowedHost(request[http::field::host])) {
        return refused(http::status::misdirected_request,
                       "this server does not answer to that name; see ServerOptions::hosts");
    }
    const bool is_preflight = request.method() == http::verb::options;
    const bool only_reads = request.method() == http::verb::get || request.method() == http::verb::head;
    if (!only_reads && isForeign(request, shared_->options.origins)) {
        return refused(http::status::forbidden,
                       "a page of another origin may not send this request; see ServerOptions::origins");
    }
    if (is_preflight && !shared_->options.origins.empty())
        return textAnswer(request, http::status::no_content, json_type, {});
    try {
        asked = targetOf(request);
        asked.remote = *remote;
    } catch (const InvalidArgumentError& why) {
        return refused(http::status::bad_request, why.what());
    }
    if (asked.route.hasDots())
        return refused(http::status::not_found, "the path has the segment '.' or '..', which names nothing here");
    if (asked.takes_json && hasForeignBody(request))
        return refused(http::status::unsupported_media_type, "the body must be application/json");
    if (asked.isConversation()) return refusalOfAddress(request, asked);  // its body names the thread
    return refusalByHook(request, asked);
}

std::optional<Answer> Connection::refusalByHook(const Request& request, Asked& asked) const {
    if (auto refused = refusalOfAddress(request, asked)) return refused;
    if (!shared_->options.authorize) return {};
    try {
        Admission decided = shared_->options.authorize(Requested(request, asked));
        if (decided.status == 0) {
            asked.identity = std::move(decided.identity);
            return {};
        }
        if (decided.status < 400 || decided.status > 599) throw std::logic_error("a refusal has a wrong status");
        return textAnswer(request, http::int_to_status(static_cast<unsigned>(decided.status)), json_type,
                          errorJson(decided.reason));
    } catch (...) {
        return failed(request, asked, std::current_exception());
    }
}

}  // namespace stategraph::serve
