#pragma once
#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace stategraph::checkpoint {

/// The servers that a connection string names (`host=first,second`). libpq would try them in turn by itself, but it
/// has no limit of time for each of them in calls that do not block: a server that accepts connections and is frozen
/// would keep the others from being tried. Safe from any thread.
class PostgresHosts {
public:
    /// What a connection to one server needs besides the connection string. Empty: what the connection string says.
    struct Host {
        std::string host = {};
        std::string address = {};
        std::string port = {};
    };

    /// A connection string that names one server, or that cannot be read, is one host. So is one with
    /// target_session_attrs=prefer-standby, for which libpq must know all of them, and one with a service.
    explicit PostgresHosts(const std::string& conninfo);

    std::size_t count() const noexcept { return hosts_.size(); }
    const Host& operator[](std::size_t place) const noexcept { return hosts_[place]; }
    /// Returns "host:port", for messages.
    std::string nameOf(std::size_t place) const;

    /// Which one is tried first: the one that worked last.
    std::size_t first() const noexcept { return first_; }
    void noteWorking(std::size_t place) noexcept { first_ = place; }
    /// It could not be connected to. The next connections try it last.
    void noteFailed(std::size_t place) noexcept;
    /// A connection to it broke. The next connections try it last, unless any server will do: then the next one could
    /// be a standby, which would be kept, so the order stays.
    void noteLost(std::size_t place) noexcept;

private:
    std::vector<Host> hosts_;
    bool will_any_do_ = true;  // target_session_attrs
    std::atomic<std::size_t> first_{0};
};

}  // namespace stategraph::checkpoint
