#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/mcp/serve.hpp>
#include <stategraph/serve/handler.hpp>

#include "mcp/message.hpp"
#include "mcp/server/feed.hpp"
#include "mcp/server/http_runner.hpp"
#include "mcp/server/peer.hpp"
#include "mcp/server/served_sessions.hpp"
#include "mcp/server/versions.hpp"

// The endpoint for Streamable HTTP.
namespace stategraph::mcp {

namespace json = boost::json;

namespace {

using detail::Feed;
using detail::Incoming;
using detail::Peer;
using detail::ServedSession;

constexpr const char* session_header = "Mcp-Session-Id";
constexpr const char* version_header = "MCP-Protocol-Version";
constexpr auto every = std::chrono::seconds(1);  // after which a client that has disconnected is noticed

serve::HandlerAnswer answerOf(std::string body, int status = 200) {
    return {.status = status, .content_type = "application/json", .body = std::move(body)};
}
serve::HandlerAnswer refused(int status, int code, std::string_view why, std::string_view id = "null") {
    return answerOf(detail::refusalText(id, code, why), status);
}

/// The status of an answer without a session, by the code of its error.
int statusOf(int error_code) noexcept {
    switch (error_code) {
        case 0:
            return 200;
        case detail::unknown_method:
            return 404;
        case detail::beyond_limit:
            return 503;
        default:
            return 400;
    }
}

/// The bytes of a text in base64; none: it is something else.
std::optional<std::string> decoded(std::string_view text) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    text = text.substr(0, text.find_last_not_of('=') + 1);
    std::string bytes;
    unsigned bits = 0;
    int count = 0;
    for (const char each : text) {
        const std::size_t digit = digits.find(each);
        if (digit == std::string_view::npos) return {};
        bits = (bits << 6U) | static_cast<unsigned>(digit);
        if ((count += 6) < 8) continue;
        count -= 8;
        bytes += static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xffU);
    }
    return bytes;
}

/// What a header field says that mirrors a member of the body.
std::optional<std::string> mirrored(std::string_view value) {
    constexpr std::string_view begin = "=?base64?";
    constexpr std::string_view end = "?=";
    const bool is_coded = value.size() >= begin.size() + end.size() && value.starts_with(begin) && value.ends_with(end);
    if (!is_coded) return std::string(value);
    return decoded(value.substr(begin.size(), value.size() - begin.size() - end.size()));
}

/// The endpoint. Owned by the handler of a server.
class Endpoint {
public:
    Endpoint(serve::Server& http, const Server& server, ServeOptions options)
        : offer_(server.offer()),
          options_(options),
          runs_(http),
          runner_(std::make_shared<detail::HttpRunner>(http)),
          sessions_(options) {}

    serve::HandlerAnswer answer(const serve::HandlerRequest& request) {
        if (!request.segments.empty()) return refused(404, detail::invalid_request, "Not Found");
        const std::string_view method = request.request.method();
        if (runs_.areOwned() && (!request.identity || request.identity->name.empty()))
            return refused(401, detail::invalid_request,
                           "threads of this server belong to users, and the request names none");
        if (method == "POST") return post(request);
        if (method == "GET" && !request.request.header("Last-Event-ID").empty()) return resume(request);
        if (method == "DELETE") return endSession(request);
        serve::HandlerAnswer answer =
            refused(405, detail::invalid_request, "this endpoint has no stream of its own; send messages with POST");
        answer.headers.emplace_back("Allow", "POST, DELETE");
        return answer;
    }

private:
    static std::string clientOf(const serve::HandlerRequest& request) {
        if (request.identity && !request.identity->name.empty()) return "user " + request.identity->name;
        return "at " + std::string(request.request.remote());
    }

    std::shared_ptr<ServedSession> sessionOf(const serve::HandlerRequest& request) {
        return sessions_.find(request.request.header(session_header), clientOf(request));
    }

    serve::HandlerAnswer post(const serve::HandlerRequest& request) {
        const std::string_view accept = request.request.header("Accept");
        const bool takes_both = accept.find("*/*") != std::string_view::npos ||
                                (accept.find("application/json") != std::string_view::npos &&
                                 accept.find("text/event-stream") != std::string_view::npos);
        if (!takes_both)
            return refused(406, detail::invalid_request, "accept both application/json and text/event-stream");
        std::vector<Incoming> messages = detail::readMessages(request.body);
        if (messages.size() != 1 || request.body.substr(request.body.find_first_not_of(" \t\r\n")).starts_with('['))
            return refused(400, detail::invalid_request, "send one message at a time: batches are not supported");
        Incoming& message = messages.front();
        if (auto limited = refusalByLimits(request, message)) return *std::move(limited);
        if (isModern(request, message)) return postModern(request, message);
        return postOfSession(request, message);
    }

    std::optional<serve::HandlerAnswer> refusalByLimits(const serve::HandlerRequest& request, const Incoming& message) {
        const bool is_call = message.kind == Incoming::Kind::request && message.method == "tools/call";
        const auto wait = runs_.count(request.identity, request.request.remote(), request.body.size(), is_call ? 1 : 0);
        const bool has_stream = !is_call || !request.take_stream || request.take_stream();
        if (!wait && has_stream) return {};
        serve::HandlerAnswer answer =
            refused(429, detail::beyond_limit, "the client asks for too much; try again later");
        if (wait) answer.headers.emplace_back("Retry-After", std::to_string(wait->count()));
        return answer;
    }

    static bool isModern(const serve::HandlerRequest& request, const Incoming& message) {
        if (request.request.header(version_header) == detail::modern_version) return true;
        const json::object* const meta = detail::objectIn(message.content, "_meta");
        return message.kind == Incoming::Kind::request && meta != nullptr && meta->contains(detail::version_key);
    }

    /// What is wrong with the header fields that mirror the body; empty: nothing.
    static std::string mismatchOf(const serve::HandlerRequest& request, const Incoming& message) {
        const json::object* const meta = detail::objectIn(message.content, "_meta");
        const std::string version = meta == nullptr ? std::string() : detail::stringOf(*meta, detail::version_key);
        if (request.request.header(version_header) != version)
            return std::string(version_header) + " is not the version in the body's _meta";
        if (request.request.header("Mcp-Method") != message.method) return "Mcp-Method is not the body's method";
        if (message.method == "tools/call" &&
            mirrored(request.request.header("Mcp-Name")) != detail::stringOf(message.content, "name"))
            return "Mcp-Name is not the name in the body";
        return {};
    }

    serve::HandlerAnswer postModern(const serve::HandlerRequest& request, Incoming& message) {
        if (message.kind == Incoming::Kind::notification) return {.status = 202};
        if (message.kind == Incoming::Kind::request) {
            if (const std::string why = mismatchOf(request, message); !why.empty())
                return refused(400, detail::header_mismatch, "Header mismatch: " + why, message.request_id);
        }
        const auto peer = std::make_shared<Peer>(offer_, runner_);
        const auto feed = std::make_shared<Feed>(std::string(), options_.event_bytes_max);
        peer->take(std::move(message), feed, request.identity);
        if (const auto only = feed->only()) return answerOf(only->message, statusOf(only->error_code));
        serve::HandlerAnswer answer = streamOf(feed, 1);
        // A client that leaves wants the call stopped.
        answer.events->left = [peer] { peer->close(); };
        return answer;
    }

    serve::HandlerAnswer postOfSession(const serve::HandlerRequest& request, Incoming& message) {
        const std::string_view version = request.request.header(version_header);
        if (!version.empty() && !detail::isSessionVersion(version))
            return refused(
                400, detail::invalid_request,
                std::string(version_header) + " is no version of this server's: " + detail::quotedPart(version, 100));
        if (message.kind == Incoming::Kind::request && message.method == "initialize") return begin(request, message);
        if (message.kind == Incoming::Kind::unreadable) {
            const auto feed = std::make_shared<Feed>(std::string(), options_.event_bytes_max);
            Peer(offer_, runner_).take(std::move(message), feed, request.identity);
            return answerOf(feed->only()->message, 400);
        }
        if (request.request.header(session_header).empty())
            return refused(400, detail::invalid_request,
                           std::string("the request lacks ") + session_header + "; send 'initialize' first");
        const std::shared_ptr<ServedSession> session = sessionOf(request);
        if (!session) return noSession();
        const bool is_request = message.kind == Incoming::Kind::request;
        const bool is_call = is_request && message.method == "tools/call";
        const auto feed = is_call ? session->newFeed(options_.event_bytes_max, options_.kept_bytes_max)
                                  : std::make_shared<Feed>(std::string(), options_.event_bytes_max);
        session->peer().take(std::move(message), feed, request.identity);
        if (!is_request) return {.status = 202};
        if (const auto only = feed->only()) return answerOf(only->message);
        return streamOf(feed, 1);
    }

    static serve::HandlerAnswer noSession() {
        return refused(404, detail::invalid_request, "the server has no such session; send 'initialize'");
    }

    serve::HandlerAnswer begin(const serve::HandlerRequest& request, Incoming& message) {
        const auto peer = std::make_shared<Peer>(offer_, runner_);
        const auto feed = std::make_shared<Feed>(std::string(), options_.event_bytes_max);
        peer->take(std::move(message), feed, request.identity);
        const auto only = feed->only();
        if (!only || peer->version().empty()) return answerOf(only ? only->message : std::string(), 400);
        const std::shared_ptr<ServedSession> session = sessions_.add(clientOf(request), peer);
        if (!session) return refused(503, detail::beyond_limit, "the server has as many sessions as its limit allows");
        serve::HandlerAnswer answer = answerOf(only->message);
        answer.headers.emplace_back(session_header, session->id());
        return answer;
    }

    serve::HandlerAnswer resume(const serve::HandlerRequest& request) {
        const std::shared_ptr<ServedSession> session = sessionOf(request);
        if (!session) return noSession();
        const std::string_view id = request.request.header("Last-Event-ID");
        const std::size_t dash = std::min(id.find('-'), id.size());
        const std::string_view digits = id.substr(std::min(dash + 1, id.size()));
        std::uint64_t last = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), last);
        const bool is_number = error == std::errc() && end == digits.data() + digits.size();
        const std::shared_ptr<Feed> feed = is_number ? session->feed(id.substr(0, dash)) : nullptr;
        if (!feed) return refused(404, detail::invalid_request, "the server does not have what follows that event");
        return streamOf(feed, last + 1);
    }

    serve::HandlerAnswer endSession(const serve::HandlerRequest& request) {
        if (!sessions_.end(request.request.header(session_header), clientOf(request))) return noSession();
        return {.status = 204, .content_type = "application/json"};
    }

    static serve::HandlerAnswer streamOf(const std::shared_ptr<Feed>& feed, std::uint64_t from) {
        serve::HandlerEvents events;
        events.every = every;
        events.is_whole = true;
        events.begin = [feed](std::function<void()> announce) { feed->listen(std::move(announce)); };
        events.next = [feed, from, is_first = true]() mutable -> std::optional<std::string> {
            Feed::Read read = feed->read(from);
            // A client that loses the connection before the first message can come back, too.
            const std::string id = feed->idOf(from - 1);
            if (std::exchange(is_first, false) && from == 1 && !id.empty())
                read.text.insert(0, ": begin\nid: " + id + "\n\n");
            from = read.next;
            if (!read.text.empty()) return std::move(read.text);
            if (read.is_end) return std::nullopt;
            return std::string();
        };
        serve::HandlerAnswer answer{.content_type = "text/event-stream"};
        answer.headers.emplace_back("Cache-Control", "no-store");
        answer.headers.emplace_back("X-Accel-Buffering", "no");
        answer.events = std::move(events);
        return answer;
    }

    const std::shared_ptr<const detail::Offer> offer_;
    const ServeOptions options_;
    const serve::HandlerRuns runs_;
    const std::shared_ptr<detail::HttpRunner> runner_;
    detail::ServedSessions sessions_;
};

}  // namespace

void serve(serve::Server& http, const std::string& name, const Server& server, ServeOptions options) {
    if (options.sessions_max == 0 || options.sessions_per_client == 0)
        throw InvalidArgumentError("ServeOptions::sessions_max and sessions_per_client are at least 1");
    const auto endpoint = std::make_shared<Endpoint>(http, server, options);
    http.handle(name, [endpoint](const serve::HandlerRequest& request) { return endpoint->answer(request); });
}

}  // namespace stategraph::mcp
