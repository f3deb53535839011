#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/mcp/serve.hpp>

#include "mcp/server/feed.hpp"
#include "mcp/server/peer.hpp"

namespace stategraph::mcp::detail {

/// A client of a version with sessions, and what it was sent. Safe from any thread.
class ServedSession {
public:
    /// `client`: whose it is.
    ServedSession(std::string id, std::string client, std::shared_ptr<Peer> peer)
        : id_(std::move(id)), client_(std::move(client)), peer_(std::move(peer)) {}

    const std::string& id() const noexcept { return id_; }
    const std::string& client() const noexcept { return client_; }
    Peer& peer() const noexcept { return *peer_; }

    /// A feed for one request, which is kept for a client that reconnects, as are others up to a number of bytes.
    std::shared_ptr<Feed> newFeed(std::size_t bytes_max, std::size_t kept_bytes_max);
    /// The feed of that name; null if there is none, or none any more.
    std::shared_ptr<Feed> feed(std::string_view name) const;

private:
    const std::string id_;
    const std::string client_;
    const std::shared_ptr<Peer> peer_;
    mutable stategraph::detail::Mutex mutex_;
    std::deque<std::shared_ptr<Feed>> feeds_ SG_GUARDED_BY(mutex_);
    std::uint64_t last_feed_ SG_GUARDED_BY(mutex_) = 0;
};

/// The sessions of a server. Safe from any thread.
class ServedSessions {
public:
    explicit ServedSessions(ServeOptions options) : options_(options) {}
    /// Ends all.
    ~ServedSessions();

    /// Adds a session; null if there are too many of which none is idle.
    std::shared_ptr<ServedSession> add(const std::string& client, const std::shared_ptr<Peer>& peer);
    /// The session of that id and client, which is used now; null if there is none.
    std::shared_ptr<ServedSession> find(std::string_view id, std::string_view client);
    /// Ends it. Returns false if there is none.
    bool end(std::string_view id, std::string_view client);
    std::size_t size() const;

private:
    using Clock = std::chrono::steady_clock;
    struct Used {
        std::shared_ptr<ServedSession> session;
        Clock::time_point at;
    };
    using Map = std::map<std::string, Used, std::less<>>;
    /// Removes the session that was idle for the longest time, of a client or, if it is empty, of all.
    std::shared_ptr<ServedSession> removeIdle(std::string_view client) SG_REQUIRES(mutex_);
    std::size_t countOf(std::string_view client) const SG_REQUIRES(mutex_);

    const ServeOptions options_;
    mutable stategraph::detail::Mutex mutex_;
    Map sessions_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::mcp::detail
