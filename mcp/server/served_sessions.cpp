#include "mcp/server/served_sessions.hpp"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace stategraph::mcp::detail {

namespace {

constexpr std::size_t kept_feeds_max = 64;  // of ended requests of a session

/// A name that nobody can guess.
std::string newSessionId() {
    thread_local std::random_device source;
    constexpr std::string_view digits = "0123456789abcdef";
    std::string id;
    for (int i = 0; i < 40; ++i) id += digits[source() % digits.size()];
    return id;
}

}  // namespace

std::shared_ptr<Feed> ServedSession::newFeed(std::size_t bytes_max, std::size_t kept_bytes_max) {
    const stategraph::detail::LockGuard lock(mutex_);
    auto made = std::make_shared<Feed>(std::to_string(++last_feed_), bytes_max);
    std::size_t bytes = 0;
    std::size_t kept = 0;
    for (auto at = feeds_.end(); at != feeds_.begin();) {
        --at;
        if (!(*at)->hasEnded()) continue;
        bytes += (*at)->bytes();
        if (bytes > kept_bytes_max || ++kept > kept_feeds_max) at = feeds_.erase(at);
    }
    feeds_.push_back(made);
    return made;
}

std::shared_ptr<Feed> ServedSession::feed(std::string_view name) const {
    const stategraph::detail::LockGuard lock(mutex_);
    for (const auto& each : feeds_) {
        if (each->name() == name) return each;
    }
    return nullptr;
}

ServedSessions::~ServedSessions() {
    Map all;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        all.swap(sessions_);
    }
    for (const auto& [id, used] : all) used.session->peer().close();
}

std::size_t ServedSessions::countOf(std::string_view client) const {
    std::size_t count = 0;
    for (const auto& [id, used] : sessions_) count += used.session->client() == client ? 1 : 0;
    return count;
}

std::shared_ptr<ServedSession> ServedSessions::removeIdle(std::string_view client) {
    auto oldest = sessions_.end();
    for (auto at = sessions_.begin(); at != sessions_.end(); ++at) {
        const bool is_meant = client.empty() || at->second.session->client() == client;
        if (!is_meant || at->second.session->peer().hasCalls()) continue;
        if (oldest == sessions_.end() || at->second.at < oldest->second.at) oldest = at;
    }
    if (oldest == sessions_.end()) return nullptr;
    auto removed = std::move(oldest->second.session);
    sessions_.erase(oldest);
    return removed;
}

std::shared_ptr<ServedSession> ServedSessions::add(const std::string& client, const std::shared_ptr<Peer>& peer) {
    auto made = std::make_shared<ServedSession>(newSessionId(), client, peer);
    std::vector<std::shared_ptr<ServedSession>> gone;
    {
        const auto now = Clock::now();
        const stategraph::detail::LockGuard lock(mutex_);
        for (auto at = sessions_.begin(); at != sessions_.end();) {
            const bool is_old = now - at->second.at > options_.session_idle && !at->second.session->peer().hasCalls();
            if (is_old) gone.push_back(at->second.session);
            at = is_old ? sessions_.erase(at) : std::next(at);
        }
        if (countOf(client) >= options_.sessions_per_client) {
            gone.push_back(removeIdle(client));
            if (!gone.back()) return nullptr;
        } else if (sessions_.size() >= options_.sessions_max) {
            gone.push_back(removeIdle({}));
            if (!gone.back()) return nullptr;
        }
        sessions_.emplace(made->id(), Used{made, now});
    }
    for (const auto& each : gone) each->peer().close();
    return made;
}

std::shared_ptr<ServedSession> ServedSessions::find(std::string_view id, std::string_view client) {
    const stategraph::detail::LockGuard lock(mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end() || found->second.session->client() != client) return nullptr;
    found->second.at = Clock::now();
    return found->second.session;
}

bool ServedSessions::end(std::string_view id, std::string_view client) {
    std::shared_ptr<ServedSession> gone;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        const auto found = sessions_.find(id);
        if (found == sessions_.end() || found->second.session->client() != client) return false;
        gone = std::move(found->second.session);
        sessions_.erase(found);
    }
    gone->peer().close();
    return true;
}

std::size_t ServedSessions::size() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return sessions_.size();
}

}  // namespace stategraph::mcp::detail
