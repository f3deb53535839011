#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// The interface between the protocol and the ways in which its messages travel.
namespace stategraph::mcp::detail {

/// The id of messages that are no requests.
inline constexpr std::int64_t no_request = -1;

/// Receives what a wire brings. It is called from the wire's threads, one call at a time for a process, without a lock
/// of the wire that `send` needs.
class WireSink {
public:
    virtual ~WireSink() = default;
    virtual void onMessage(std::string_view text) noexcept = 0;
    /// One request will get no answer.
    virtual void onFailed(std::int64_t request, std::string_view why) noexcept = 0;
    /// Whether the answer to a request has not come yet, and is still wanted.
    virtual bool isAwaited(std::int64_t request) noexcept = 0;
    /// The wire is broken; nothing follows.
    virtual void onBroken(std::string_view why) noexcept = 0;
};

struct WireLimits {
    std::size_t max_message_bytes;
    std::size_t max_unsent_bytes;
    /// For one exchange, of a wire that has no connection.
    std::chrono::milliseconds connect_timeout;
};

/// Carries messages to one server and back. Thread-safe.
class Wire {
public:
    virtual ~Wire() = default;
    /// Queues a message, and does not block. `request` is its id if it is a request. Returns false if too
    /// much is queued.
    virtual bool send(std::string text, std::int64_t request) = 0;
    /// The answer to a request is no longer awaited.
    virtual void abandon(std::int64_t request) noexcept = 0;
    /// The version on which both sides have agreed.
    virtual void setVersion(const std::string& version) = 0;
    /// Ends the connection, and waits for that. Afterwards the sink is not called. Not to be called by the sink.
    virtual void close() noexcept = 0;
    /// Begins to end the connection, without waiting.
    virtual void end() noexcept = 0;
    /// Whether `close` would return immediately.
    virtual bool isOver() const noexcept = 0;
};

/// Creates wires. Immutable.
class Connector {
public:
    virtual ~Connector() = default;
    /// `sink` must exist until the wire is closed. Errors: std::exception that says why it failed.
    virtual std::unique_ptr<Wire> connect(WireSink& sink, const WireLimits& limits) const = 0;
    /// Returns what errors must not show, the longest first.
    virtual std::vector<std::string> secrets() const { return {}; }
};

}  // namespace stategraph::mcp::detail
