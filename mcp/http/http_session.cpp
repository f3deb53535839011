#include "mcp/http/http_session.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>

#include <stategraph/async.hpp>
#include <stategraph/error.hpp>

#include "mcp/message.hpp"
#include "model/http/sse_parser.hpp"
#include "model/http/stopping.hpp"
#include "model/http/text.hpp"

namespace stategraph::mcp::detail {

namespace http = model::http;

namespace {

using HttpClock = std::chrono::steady_clock;

constexpr std::size_t max_refusal_bytes = 2048;
constexpr std::size_t max_id_bytes = 1024;
constexpr std::chrono::milliseconds without_limit = std::chrono::hours(24 * 365);

/// Does what a stop of an exchange does, for `Stopping`.
model::Asking stoppedBy(std::stop_token stop) {
    model::Asking asking;
    asking.stop = std::move(stop);
    return asking;
}

bool isVisible(char c) { return c > ' ' && c < '\x7f'; }

}  // namespace

HttpSession::HttpSession(std::shared_ptr<const http::HttpClient> client, std::chrono::milliseconds end_wait,
                         WireSink& sink, const WireLimits& limits)
    : client_(std::move(client)), end_wait_(end_wait), limits_(limits), sink_(&sink) {}

std::shared_ptr<const http::HttpClient> HttpSession::clientNow(const char* method) {
    auto client = std::make_shared<http::HttpClient>(*client_);
    client->method = method;
    if (!session_id_.empty()) client->headers.emplace_back("Mcp-Session-Id", session_id_);
    if (!version_.empty()) client->headers.emplace_back("MCP-Protocol-Version", version_);
    return client;
}

bool HttpSession::send(std::string text, std::int64_t request) {
    const stategraph::detail::LockGuard lock(mutex_);
    if (is_stopped_) return true;  // the session fails its requests
    if (unsent_bytes_ + text.size() > limits_.max_unsent_bytes) return false;
    unsent_bytes_ += text.size();
    if (is_gate_closed_) {
        waiting_.push_back({std::move(text), request});
    } else {
        start({std::move(text), request});
    }
    return true;
}

void HttpSession::start(Message message) {
    const bool is_gate = std::exchange(is_gate_next_, false);
    if (is_gate) is_gate_closed_ = true;
    const std::int64_t number = ++last_exchange_;
    const std::size_t bytes = message.text.size();
    const auto added = exchanges_.emplace(number, std::pair(message.request, std::stop_source())).first;
    Task<> task = exchange(clientNow("POST"), std::make_shared<const std::string>(std::move(message.text)),
                           message.request, added->second.second.get_token());
    try {
        spawn(Executor::common(), std::move(task),
              [self = shared_from_this(), number, bytes, is_gate](const Outcome<void>&) {
                  self->ended(number, bytes, is_gate);
              });
    } catch (...) {
        exchanges_.erase(added);
        unsent_bytes_ -= bytes;
        throw;
    }
}

void HttpSession::ended(std::int64_t number, std::size_t bytes, bool was_gate) noexcept {
    try {
        const stategraph::detail::LockGuard lock(mutex_);
        exchanges_.erase(number);
        unsent_bytes_ -= bytes;
        if (!was_gate || is_stopped_) return;
        is_gate_closed_ = false;
        while (!waiting_.empty()) {
            Message message = std::move(waiting_.front());
            waiting_.pop_front();
            start(std::move(message));
        }
        return;
    } catch (const std::exception& error) {
        breakOff(joined("a request cannot be sent: ", error.what()));
    }
}

void HttpSession::abandon(std::int64_t request) noexcept {
    const stategraph::detail::LockGuard lock(mutex_);
    for (auto& [number, exchange] : exchanges_) {
        if (exchange.first == request) exchange.second.request_stop();
    }
    std::erase_if(waiting_, [&](const Message& message) SG_REQUIRES(mutex_) {
        if (message.request != request) return false;
        unsent_bytes_ -= message.text.size();
        return true;
    });
}

void HttpSession::setVersion(const std::string& version) {
    const stategraph::detail::LockGuard lock(mutex_);
    version_ = version;
    is_gate_next_ = true;
}

void HttpSession::end() noexcept {
    try {
        const stategraph::detail::LockGuard lock(mutex_);
        if (is_stopped_) return;
        is_stopped_ = true;
        waiting_.clear();
        for (auto& [number, exchange] : exchanges_) exchange.second.request_stop();
        if (session_id_.empty()) return;
        auto client = std::make_shared<http::HttpClient>(*clientNow("DELETE"));
        client->limits.connect_limit = std::min(client->limits.connect_limit, end_wait_);
        client->limits.total_limit = end_wait_;
        is_ending_ = true;
        // Its result does not matter: servers may refuse to end sessions.
        spawn(Executor::common(), removeSession(std::move(client), HttpClock::now() + end_wait_),
              [self = shared_from_this()](const Outcome<void>&) { self->removed(); });
    } catch (...) {
        removed();
    }
}

void HttpSession::removed() noexcept {
    const stategraph::detail::LockGuard lock(mutex_);
    is_ending_ = false;
    is_removed_.notify_all();
}

void HttpSession::awaitEnd() noexcept {
    stategraph::detail::UniqueLock lock(mutex_);
    is_removed_.wait_for(lock.native(), end_wait_, [this]() SG_REQUIRES(mutex_) { return !is_ending_; });
}

bool HttpSession::isOver() noexcept {
    const stategraph::detail::LockGuard lock(mutex_);
    return is_stopped_ && !is_ending_;
}

void HttpSession::disconnect() noexcept {
    const stategraph::detail::LockGuard lock(sink_mutex_);
    sink_ = nullptr;
}

void HttpSession::deliver(std::string_view text) noexcept {
    const stategraph::detail::LockGuard lock(sink_mutex_);
    if (sink_ != nullptr) sink_->onMessage(text);
}

void HttpSession::fail(std::int64_t request, std::string_view why) noexcept {
    const stategraph::detail::LockGuard lock(sink_mutex_);
    if (sink_ != nullptr && request != no_request) sink_->onFailed(request, why);
}

void HttpSession::breakOff(std::string_view why) noexcept {
    const stategraph::detail::LockGuard lock(sink_mutex_);
    if (sink_ != nullptr) sink_->onBroken(why);
}

bool HttpSession::isAwaited(std::int64_t request) noexcept {
    const stategraph::detail::LockGuard lock(sink_mutex_);
    return sink_ != nullptr && sink_->isAwaited(request);
}

bool HttpSession::takeId(const std::string& id) {
    if (id.empty()) return true;
    const stategraph::detail::LockGuard lock(mutex_);
    if (id.size() > max_id_bytes || !std::all_of(id.begin(), id.end(), isVisible)) return false;
    if (session_id_.empty()) session_id_ = id;
    return true;
}

Task<> HttpSession::removeSession(std::shared_ptr<const http::HttpClient> client, HttpClock::time_point deadline) {
    const model::Asking asking;
    http::Stopping stopping(asking);
    http::HttpStream stream(client, stopping, deadline);
    Task<http::HttpHead> opened = stream.open(std::make_shared<const std::string>());
    co_await std::move(opened);
    stream.leave();
}

Task<> HttpSession::exchange(std::shared_ptr<const http::HttpClient> client, std::shared_ptr<const std::string> body,
                             std::int64_t request, std::stop_token stop) {
    const model::Asking asking = stoppedBy(std::move(stop));
    http::Stopping stopping(asking);
    const auto limit = request == no_request ? limits_.connect_timeout : without_limit;
    std::string failure;
    try {
        http::HttpStream stream(client, stopping, HttpClock::now() + limit);
        Task<http::HttpHead> opened = stream.open(std::move(body));
        const http::HttpHead head = co_await std::move(opened);
        if (head.status / 100 != 2) {
            Task<> read = readRefusal(*client, stream, head, request);
            co_await std::move(read);
        } else if (!takeId(head.kept)) {
            breakOff("it sent a session id that is no visible ASCII text");
        } else if (request != no_request) {
            Task<> read = readAnswer(*client, stream, head, request);
            co_await std::move(read);
        }
        stream.leave();
        co_return;
    } catch (const CancelledError&) {
        co_return;
    } catch (const std::exception& error) {
        failure = error.what();
    }
    fail(request, failure);
}

Task<> HttpSession::readAnswer(const http::HttpClient& client, http::HttpStream& stream, const http::HttpHead& head,
                               std::int64_t request) {
    const bool is_stream = head.content_type.starts_with("text/event-stream");
    if (!is_stream && !head.content_type.starts_with("application/json")) {
        fail(request, "it answered with status " + std::to_string(head.status) + " and something other than JSON (" +
                          http::quoted(head.content_type, client.speaker.secret, 100) + ")");
        co_return;
    }
    const std::string too_long = "it sent a message of more than " + std::to_string(limits_.max_message_bytes) +
                                 " bytes, which is ClientOptions::max_message_bytes";
    http::SseParser parser(limits_.max_message_bytes);
    std::string body;
    while (isAwaited(request)) {
        Task<std::string> read = stream.read();
        const std::string piece = co_await std::move(read);
        if (piece.empty()) break;
        if (is_stream) {
            try {
                parser.feed(piece, [this](std::string_view, std::string_view data) { deliver(data); });
            } catch (const std::length_error&) {
                fail(request, too_long);
            }
        } else {
            body += piece;
            if (body.size() > limits_.max_message_bytes) fail(request, too_long);
        }
    }
    if (!is_stream && isAwaited(request)) deliver(body);
    fail(request, "the server's response ended without the answer");
}

Task<> HttpSession::readRefusal(const http::HttpClient& client, http::HttpStream& stream, const http::HttpHead& head,
                                std::int64_t request) {
    std::string body;
    while (body.size() < max_refusal_bytes) {
        Task<std::string> read = stream.read();
        const std::string piece = co_await std::move(read);
        if (piece.empty()) break;
        body += piece;
    }
    std::string why = "it answered with status " + std::to_string(head.status);
    if (!body.empty()) why += ": " + http::quoted(body, client.speaker.secret, 500);
    if (head.status == 401 || head.status == 403) why += "; set HttpOptions::headers, such as Authorization";
    bool had_session = false;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        had_session = !session_id_.empty();
        if (had_session && head.status == 404) session_id_.clear();  // there is nothing to end
    }
    if (had_session && head.status == 404) {
        breakOff("the server has forgotten the session (status 404)");
    } else {
        fail(request, why);
    }
}

}  // namespace stategraph::mcp::detail
