#include "inspect/app/app_client.hpp"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>

namespace stategraph::inspect {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

using Request = http::request<http::span_body<const char>>;
using Parser = http::response_parser<http::buffer_body>;

constexpr std::size_t chunk_size = 65536;
constexpr std::uint32_t head_bytes_max = 65536;
constexpr std::size_t kept_max = 4;

/// A step of a request that failed.
struct StepError {
    error_code error;
    std::string step;
    /// Whether the program has answered nothing yet.
    bool is_unanswered = true;
};

}  // namespace

/// One connection. Each step is waited for on the caller's thread, within its limit.
class AppClient::Connection {
public:
    explicit Connection(const AppLimits& limits) : limits_(limits), stream_(context_) {}

    void connect(std::uint16_t port) {
        stream_.expires_after(limits_.connect_limit);
        wait("connecting", [&](auto done) {
            stream_.async_connect(asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), port), done);
        });
        error_code ignored;
        stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    }

    AppAnswer ask(const Request& request) {
        send(request);
        return read();
    }

    bool canBeKept() const noexcept { return can_be_kept_; }

private:
    template <class Start>
    void wait(const char* step, Start start) {
        error_code error = asio::error::would_block;
        start([&error](const error_code& ended, auto&&...) { error = ended; });
        context_.restart();
        context_.run();
        if (error) throw StepError{error, step, !is_answered_};
    }

    void send(const Request& request) {
        is_answered_ = false;
        http::request_serializer<http::span_body<const char>> serializer(request);
        while (!serializer.is_done()) {
            stream_.expires_after(limits_.idle_limit);
            try {
                wait("sending the request", [&](auto done) { http::async_write_some(stream_, serializer, done); });
            } catch (const StepError& failed) {
                // A program that refuses a request may answer before it has read all of it.
                if (failed.error == asio::error::broken_pipe || failed.error == asio::error::connection_reset) return;
                throw;
            }
        }
    }

    AppAnswer read() {
        Parser parser;
        parser.header_limit(head_bytes_max);
        parser.body_limit(limits_.answer_bytes_max);
        stream_.expires_after(limits_.idle_limit);
        wait("waiting for the answer", [&](auto done) { http::async_read_header(stream_, buffer_, parser, done); });
        is_answered_ = true;
        AppAnswer answer{.status = parser.get().result_int(), .body = {}};
        answer.is_message = parser.get()[http::field::content_type] == "application/cbor";
        std::vector<char> chunk(chunk_size);
        while (!parser.is_done()) {
            parser.get().body().data = chunk.data();
            parser.get().body().size = chunk.size();
            stream_.expires_after(limits_.idle_limit);
            wait("reading the answer", [&](auto done) {
                http::async_read_some(stream_, buffer_, parser, [done](error_code error, std::size_t size) mutable {
                    if (error == http::error::need_buffer) error = {};  // the chunk is full
                    done(error, size);
                });
            });
            answer.body.append(chunk.data(), chunk.size() - parser.get().body().size);
        }
        stream_.expires_never();
        can_be_kept_ = parser.get().keep_alive() && buffer_.size() == 0;
        return answer;
    }

    const AppLimits limits_;
    asio::io_context context_{1};
    beast::tcp_stream stream_;
    beast::flat_buffer buffer_{head_bytes_max + chunk_size};
    bool is_answered_ = false;
    bool can_be_kept_ = false;
};

/// The connections that wait for the next request.
struct AppClient::Kept {
    stategraph::detail::Mutex mutex;
    std::vector<std::unique_ptr<Connection>> connections SG_GUARDED_BY(mutex);

    std::unique_ptr<Connection> take() {
        const stategraph::detail::LockGuard lock(mutex);
        if (connections.empty()) return nullptr;
        auto taken = std::move(connections.back());
        connections.pop_back();
        return taken;
    }
    void keep(std::unique_ptr<Connection> connection) {
        const stategraph::detail::LockGuard lock(mutex);
        if (connections.size() < kept_max) connections.push_back(std::move(connection));
    }
};

struct AppClient::Asked {
    http::verb method;
    const std::string& path;
    std::string_view content_type;
    std::string_view body;
    bool stores;
};

namespace {

std::string reasonOf(const StepError& failed) {
    const error_code& error = failed.error;
    if (error == asio::error::connection_refused)
        return "nothing listens there: start the program, or use the address that it printed when it began";
    if (error == beast::error::timeout) return "nothing happened for too long while " + failed.step;
    if (error == http::error::body_limit || error == http::error::header_limit)
        return "its answer is larger than any that this command reads";
    if (error == http::error::partial_message || error == http::error::end_of_stream ||
        error == asio::error::connection_reset || error == asio::error::eof)
        return "the connection ended while " + failed.step + "; the program may have ended";
    if (error.category() == make_error_code(http::error::bad_version).category())
        return "what listens there does not speak HTTP (" + error.message() + ")";
    return error.message() + " while " + failed.step;
}

}  // namespace

AppClient::AppClient(AppAddress address, AppLimits limits)
    : address_(std::move(address)), limits_(limits), kept_(std::make_unique<Kept>()) {}
AppClient::~AppClient() = default;

AppAnswer AppClient::get(const std::string& path) { return ask({http::verb::get, path, {}, {}, false}); }

AppAnswer AppClient::post(const std::string& path, std::string_view content_type, std::string_view body, bool stores) {
    return ask({http::verb::post, path, content_type, body, stores});
}

AppAnswer AppClient::ask(const Asked& asked) {
    Request request(asked.method, asked.path, 11);
    const std::string host = address_.host + ":" + std::to_string(address_.port);
    request.set(http::field::host, host);
    request.set(http::field::user_agent, "stategraph");
    request.set("X-Stategraph-Key", address_.key);
    request.body() = beast::span<const char>(asked.body.data(), asked.body.size());
    if (asked.method == http::verb::post) {
        request.set(http::field::origin, "http://" + host);
        request.set(http::field::content_type, asked.content_type);
    }
    request.prepare_payload();
    try {
        auto connection = asked.stores ? nullptr : kept_->take();
        const bool was_kept = connection != nullptr;
        if (was_kept) {
            try {
                AppAnswer answer = connection->ask(request);
                if (connection->canBeKept()) kept_->keep(std::move(connection));
                return answer;
            } catch (const StepError& failed) {
                if (!failed.is_unanswered || failed.error == beast::error::timeout) throw;
            }
        }
        connection = std::make_unique<Connection>(limits_);
        connection->connect(address_.port);
        AppAnswer answer = connection->ask(request);
        if (connection->canBeKept()) kept_->keep(std::move(connection));
        return answer;
    } catch (const StepError& failed) {
        const bool may_be_stored = asked.stores && failed.step != "connecting";
        throw SaverError("cannot use the program at " + address_.shown() + ": " + reasonOf(failed) +
                         (may_be_stored ? "; whether it has stored this is not known: read the thread" : ""));
    }
}

}  // namespace stategraph::inspect
