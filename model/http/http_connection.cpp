#include "model/http/http_connection.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "model/http/tls_trust.hpp"

namespace stategraph::model::http {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Results = tcp::resolver::results_type;
using Serializer = beast::http::request_serializer<beast::http::span_body<const char>>;
using Parser = beast::http::response_parser<beast::http::buffer_body>;

constexpr std::size_t chunk_size = 16384;
constexpr std::uint32_t max_head_bytes = 65536;

auto errorInto(error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }
std::string inMilliseconds(std::chrono::milliseconds time) { return std::to_string(time.count()) + " ms"; }

/// A socket, and TLS on top of it.
struct Link {
    explicit Link(const asio::any_io_executor& executor) : socket(executor) {}
    void close() noexcept {
        error_code ignored;
        socket.close(ignored);
    }
    tcp::socket socket;
    std::optional<asio::ssl::stream<tcp::socket&>> tls;
    beast::flat_buffer buffer;
    std::optional<Parser> parser;
};

/// Closes the socket when its time is over. It must be created and destroyed on one strand.
///
/// It also checks twice a second for a stop, because Asio's signal is lost if it comes between two steps of one of
/// Beast's or OpenSSL's operations.
class Watch {
public:
    Watch(const asio::any_io_executor& strand, Link& link, Clock::time_point at, std::stop_token stop)
        : state_(std::make_shared<State>(strand, link, at, std::move(stop))) {
        State::wait(state_);
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() {
        state_->link = nullptr;
        state_->timer.cancel();
    }
    bool hasFired() const noexcept { return state_->has_fired; }

private:
    struct State {
        State(const asio::any_io_executor& strand, Link& of, Clock::time_point when, std::stop_token token)
            : timer(strand), link(&of), at(when), stop(std::move(token)) {}
        static void wait(const std::shared_ptr<State>& self) {
            self->timer.expires_at(std::min(self->at, Clock::now() + std::chrono::milliseconds(500)));
            self->timer.async_wait([self](const error_code& ended) {
                if (!ended && self->link != nullptr) look(self);
            });
        }
        static void look(const std::shared_ptr<State>& self) {
            self->has_fired = Clock::now() >= self->at;
            if (self->has_fired || self->stop.stop_requested()) {
                self->link->close();
            } else {
                wait(self);
            }
        }
        asio::steady_timer timer;
        Link* link;
        const Clock::time_point at;
        const std::stop_token stop;
        bool has_fired = false;
    };
    std::shared_ptr<State> state_;
};

}  // namespace

class Connection {
public:
    Connection(std::shared_ptr<const HttpClient> of, Clock::time_point until, std::stop_token token)
        : client(std::move(of)), deadline(until), stop(std::move(token)) {}

    /// Returns the error of a step that failed. It says what the connection was about to do.
    std::exception_ptr failure(const Watch& watch, const error_code& error, std::chrono::milliseconds limit,
                               std::string_view step) const {
        if (!watch.hasFired() && error == asio::error::operation_aborted) {  // the step was cancelled
            return std::make_exception_ptr(boost::system::system_error(error));
        }
        ModelError::Details details{.status = 0, .is_retryable = true, .retry_after = {}};
        std::string says = "failed while " + std::string(step) + ": ";
        if (!watch.hasFired()) {
            const bool is_of_tls = error.category() == asio::error::get_ssl_category();
            const bool is_untrusted = is_of_tls && ERR_GET_REASON(error.value()) == SSL_R_CERTIFICATE_VERIFY_FAILED;
            details.is_retryable = !is_of_tls && error != asio::error::host_not_found;
            says += error == beast::http::error::partial_message ? "the connection ended in the middle of the answer"
                                                                 : error.message();
            if (is_untrusted) says += ": " + whyUntrusted(link->tls->native_handle());
        } else if (Clock::now() >= deadline) {
            details.is_retryable = false;
            says += "it took longer than the total limit of " + inMilliseconds(client->limits.total_limit);
        } else {
            says += "nothing happened for " + inMilliseconds(limit);
        }
        return std::make_exception_ptr(client->speaker.error(says, details));
    }
    Clock::time_point within(std::chrono::milliseconds limit) const { return std::min(Clock::now() + limit, deadline); }

    const std::shared_ptr<const HttpClient> client;
    const Clock::time_point deadline;
    const std::stop_token stop;
    std::unique_ptr<Link> link;  // none before it was opened, and after an error
};

std::shared_ptr<Connection> makeConnection(std::shared_ptr<const HttpClient> client, Clock::time_point deadline,
                                           std::stop_token stop) {
    return std::make_shared<Connection>(std::move(client), deadline, std::move(stop));
}

namespace {

/// Destroys the socket if the coroutine does not reach its end, because it failed or because its execution context,
/// which the connection may outlive, is being destroyed.
class ClosesUnlessDone {
public:
    explicit ClosesUnlessDone(Connection& connection) noexcept : connection_(&connection) {}
    ClosesUnlessDone(const ClosesUnlessDone&) = delete;
    ClosesUnlessDone& operator=(const ClosesUnlessDone&) = delete;
    ~ClosesUnlessDone() {
        if (connection_ != nullptr) connection_->link.reset();
    }
    void done() noexcept { connection_ = nullptr; }

private:
    Connection* connection_;
};

/// Returns the addresses of the host. A search that hangs is abandoned when the time is over, because it cannot be
/// cancelled.
asio::awaitable<Results> resolve(Connection& connection, Clock::time_point until) {
    struct Search {
        explicit Search(const asio::any_io_executor& strand) : resolver(strand), end(strand) {}
        tcp::resolver resolver;
        asio::steady_timer end;
        bool is_over = false;
        error_code error;
        Results found;
    };
    const asio::any_io_executor strand = co_await asio::this_coro::executor;
    const auto search = std::make_shared<Search>(strand);
    const HttpClient& client = *connection.client;
    search->end.expires_at(until);
    search->resolver.async_resolve(client.url.host, client.url.port,
                                   asio::bind_executor(strand, [search](const error_code& error, Results found) {
                                       search->is_over = true;
                                       search->error = error;
                                       search->found = std::move(found);
                                       search->end.cancel();
                                   }));
    error_code stopped;
    co_await search->end.async_wait(errorInto(stopped));
    if (!search->is_over && stopped) throw boost::system::system_error(asio::error::operation_aborted);
    if (search->is_over && !search->error) co_return search->found;
    const bool is_unknown = search->is_over && search->error == asio::error::host_not_found;
    const std::string why =
        search->is_over ? search->error.message() : "no answer within " + inMilliseconds(client.limits.connect_limit);
    throw client.speaker.error("has an address that cannot be found: " + why,
                               {.status = 0, .is_retryable = !is_unknown, .retry_after = {}});
}

asio::awaitable<void> connect(Connection& connection) {
    const asio::any_io_executor strand = co_await asio::this_coro::executor;
    const HttpClient& client = *connection.client;
    const Clock::time_point until = connection.within(client.limits.connect_limit);
    const Results addresses = co_await resolve(connection, until);
    Link& link = *connection.link;
    const Watch watch(strand, link, until, connection.stop);
    error_code error;
    co_await asio::async_connect(link.socket, addresses, errorInto(error));
    if (error || watch.hasFired())
        std::rethrow_exception(connection.failure(watch, error, client.limits.connect_limit, "connecting"));
    error_code ignored;
    link.socket.set_option(tcp::no_delay(true), ignored);
    if (!client.trust) co_return;
    link.tls.emplace(link.socket, client.trust->context);
    link.tls->set_verify_callback(asio::ssl::host_name_verification(client.url.host));
    // An IP address has no host name for SNI.
    asio::ip::make_address(client.url.host, ignored);
    if (ignored) SSL_set_tlsext_host_name(link.tls->native_handle(), client.url.host.c_str());
    co_await link.tls->async_handshake(asio::ssl::stream_base::client, errorInto(error));
    if (error || watch.hasFired())
        std::rethrow_exception(
            connection.failure(watch, error, client.limits.connect_limit, "securing the connection (TLS)"));
}

beast::http::request<beast::http::span_body<const char>> makeRequest(const HttpClient& client,
                                                                     const std::string& body) {
    beast::http::request<beast::http::span_body<const char>> request(beast::http::string_to_verb(client.method),
                                                                     client.path, 11);
    request.set(beast::http::field::host, client.url.hostHeader());
    request.set(beast::http::field::user_agent, "stategraph");
    request.set(beast::http::field::content_type, "application/json");
    request.set(beast::http::field::accept, "text/event-stream");
    request.set(beast::http::field::accept_encoding, "identity");
    for (const auto& [name, value] : client.headers) request.set(name, value);
    request.keep_alive(false);
    request.body() = beast::span<const char>(body.data(), body.size());
    request.prepare_payload();
    return request;
}

/// Sends it piece by piece, so that a long request on a slow line does not count as idle.
template <class Stream>
asio::awaitable<void> send(Connection& connection, Stream& stream, const std::string& body) {
    const asio::any_io_executor strand = co_await asio::this_coro::executor;
    const std::chrono::milliseconds limit = connection.client->limits.idle_limit;
    const auto request = makeRequest(*connection.client, body);
    Serializer serializer(request);
    while (!serializer.is_done()) {
        const Watch watch(strand, *connection.link, connection.within(limit), connection.stop);
        error_code error;
        co_await beast::http::async_write_some(stream, serializer, errorInto(error));
        // A server that refuses a request may answer before it has read the request. The answer is more important than
        // this error.
        if (error == asio::error::broken_pipe || error == asio::error::connection_reset) co_return;
        if (error || watch.hasFired())
            std::rethrow_exception(connection.failure(watch, error, limit, "sending the request"));
    }
}

template <class Stream>
asio::awaitable<HttpHead> readHead(Connection& connection, Stream& stream) {
    const asio::any_io_executor strand = co_await asio::this_coro::executor;
    const HttpClient& client = *connection.client;
    const std::chrono::milliseconds limit = client.limits.idle_limit;
    Link& link = *connection.link;
    do {  // informational heads come before the head of the answer
        link.parser.emplace();
        link.parser->header_limit(max_head_bytes);
        link.parser->body_limit(boost::none);
        const Watch watch(strand, link, connection.within(limit), connection.stop);
        error_code error;
        co_await beast::http::async_read_header(stream, link.buffer, *link.parser, errorInto(error));
        if (error || watch.hasFired())
            std::rethrow_exception(connection.failure(watch, error, limit, "awaiting the answer"));
    } while (link.parser->get().result_int() / 100 == 1);
    const auto& head = link.parser->get();
    const auto text = [&](std::string_view name) {
        const auto found = head.find(name);
        return found != head.end() ? std::string(found->value()) : std::string();
    };
    HttpHead out;
    out.status = static_cast<int>(head.result_int());
    out.retry_after = text("retry-after");
    out.retry_after_ms = text("retry-after-ms");
    out.should_retry = text("x-should-retry");
    out.location = text("location");
    out.content_type = text("content-type");
    if (!client.kept_header.empty()) out.kept = text(client.kept_header);
    co_return out;
}

template <class Stream>
asio::awaitable<std::string> readPiece(Connection& connection, Stream& stream, std::chrono::milliseconds limit) {
    const asio::any_io_executor strand = co_await asio::this_coro::executor;
    Link& link = *connection.link;
    std::string piece(chunk_size, '\0');
    std::size_t size = 0;
    while (size == 0 && !link.parser->is_done()) {
        auto& body = link.parser->get().body();
        body.data = piece.data();
        body.size = piece.size();
        const Watch watch(strand, link, connection.within(limit), connection.stop);
        error_code error;
        co_await beast::http::async_read_some(stream, link.buffer, *link.parser, errorInto(error));
        size = piece.size() - body.size;
        if (error == beast::http::error::need_buffer) error = {};
        if (error || watch.hasFired())
            std::rethrow_exception(connection.failure(watch, error, limit, "reading the answer"));
    }
    piece.resize(size);
    co_return piece;
}

}  // namespace

asio::awaitable<HttpHead> openConnection(std::shared_ptr<Connection> connection,
                                         std::shared_ptr<const std::string> body) {
    const asio::any_io_executor strand = co_await asio::this_coro::executor;
    connection->link = std::make_unique<Link>(strand);
    ClosesUnlessDone closing(*connection);
    co_await connect(*connection);
    Link& link = *connection->link;
    HttpHead head;
    if (link.tls) {
        co_await send(*connection, *link.tls, *body);
        head = co_await readHead(*connection, *link.tls);
    } else {
        co_await send(*connection, link.socket, *body);
        head = co_await readHead(*connection, link.socket);
    }
    closing.done();
    co_return head;
}

asio::awaitable<std::string> readConnection(std::shared_ptr<Connection> connection,
                                            std::chrono::milliseconds idle_limit) {
    if (!connection->link) throw boost::system::system_error(asio::error::operation_aborted);
    ClosesUnlessDone closing(*connection);
    Link& link = *connection->link;
    std::string piece;
    if (link.tls) {
        piece = co_await readPiece(*connection, *link.tls, idle_limit);
    } else {
        piece = co_await readPiece(*connection, link.socket, idle_limit);
    }
    closing.done();
    co_return piece;
}

}  // namespace stategraph::model::http
