#pragma once
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "serve/shared.hpp"

namespace stategraph::serve {

inline constexpr const char* retry_soon = "retry: 1000\n\n";

/// Writes a response of events: its head, then lines as they are added, in chunks if the client's HTTP version has
/// those. Used on the socket's executor.
class EventWriter {
public:
    EventWriter(std::shared_ptr<Shared> shared, std::shared_ptr<Socket> socket, const Protocol& protocol,
                const Request& request);

    /// Adds a line of JSON to the text that `flush` sends.
    void add(const std::string& line);
    /// Adds the protocol's last line, if it has one.
    void addLast();
    /// Adds a position, which a client of server-sent events sends when it reconnects.
    void addPosition(const std::string& position);
    /// Tells clients of server-sent events, which connect again by themselves, when to do that: the server is about to
    /// end, and another one takes its place.
    void addRetry() {
        if (is_sse_) text_ += retry_soon;
    }
    void addHeartbeat() { text_ += is_sse_ ? ": \n\n" : "\n"; }
    std::size_t size() const noexcept { return text_.size(); }
    bool isSse() const noexcept { return is_sse_; }
    /// Returns whether the connection can be used again after the response.
    bool keeps() const noexcept { return keeps_; }

    /// Returns false if the head could not be sent to the client.
    asio::awaitable<bool> writeHead();
    /// Sends what was added. If nothing was added, it sends nothing unless this is the last piece.
    asio::awaitable<bool> flush(bool is_last);

private:
    std::string framed(bool is_last) const;

    std::shared_ptr<Shared> shared_;
    std::shared_ptr<Socket> socket_;
    const Protocol& protocol_;
    const bool is_sse_;
    const bool is_chunked_;
    const bool keeps_;
    http::response<http::empty_body> head_;
    std::string text_;
};

}  // namespace stategraph::serve
