#pragma once
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/detail/mutex.hpp>

#include "storage/postgres/postgres_connection.hpp"

namespace stategraph::checkpoint {

struct PostgresPoolSettings {
    PostgresSettings connection;
    std::string schema;
    std::size_t connections_max = 1;
    std::chrono::milliseconds connection_wait{};
    std::chrono::milliseconds reconnect_for{};
};

/// Throws InvalidArgumentError for invalid settings.
void checkPostgresSettings(const PostgresPoolSettings& settings);

/// Returns the settings in the options of a saver, a store or a cache.
template <class Options>
PostgresPoolSettings poolSettings(const std::string& conninfo, const Options& options) {
    PostgresPoolSettings settings{.connection = {.conninfo = conninfo,
                                                 .hosts = std::make_shared<PostgresHosts>(conninfo),
                                                 .prepared_statements = options.prepared_statements,
                                                 .connect_timeout = connectTime(conninfo, options.connect_timeout),
                                                 .statement_timeout = options.statement_timeout},
                                  .schema = options.schema,
                                  .connections_max = options.connections_max,
                                  .connection_wait = options.connection_wait,
                                  .reconnect_for = options.reconnect_for};
    if constexpr (requires { options.read_only; }) settings.connection.read_only = options.read_only;
    return settings;
}

/// A pool of connections to one database, of which each call uses one alone. Safe from any thread.
class PostgresPool {
public:
    /// Opens no connection yet. Errors: InvalidArgumentError for a conninfo that cannot be read.
    explicit PostgresPool(PostgresPoolSettings settings);
    PostgresPool(const PostgresPool&) = delete;
    PostgresPool& operator=(const PostgresPool&) = delete;
    ~PostgresPool();

    const PostgresErrors& errors() const noexcept { return errors_; }
    const PostgresPoolSettings& settings() const noexcept { return settings_; }
    std::uint64_t roundTrips() const noexcept { return round_trips_; }
    /// How long a call whose connection broke tries to open another one.
    std::chrono::milliseconds reconnectsFor() const noexcept { return settings_.reconnect_for; }
    /// Returns whether this process created it, and is not a forked child.
    bool isOwnProcess() const noexcept;
    /// Throws SaverError if it is one.
    void checkProcess() const;

    /// Holds a connection as long as this object exists.
    class Lease {
    public:
        enum class Kind : std::uint8_t { any, made_anew };
        /// `made_anew` says that a connection was lost. Then unused connections are closed, because they lead to the
        /// same server, and a new one is tried until `reconnect_for` has passed. Errors: SaverError if none becomes
        /// free in time or none can be opened.
        explicit Lease(PostgresPool& pool, Kind kind = Kind::any);
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        ~Lease();
        PostgresConnection& operator*() noexcept { return *connection_; }
        PostgresConnection* operator->() noexcept { return connection_.get(); }

    private:
        PostgresPool& pool_;
        std::unique_ptr<PostgresConnection> connection_;
    };

    /// Calls `call(PostgresConnection&)`, and repeats it over a new connection if the first was lost. Use it only for
    /// calls that may be repeated.
    template <class Call>
    auto repeat(Call&& call) {
        try {
            Lease lease(*this);
            return call(*lease);
        } catch (const PostgresLost&) {
        }
        Lease lease(*this, Lease::Kind::made_anew);
        return call(*lease);
    }

private:
    std::unique_ptr<PostgresConnection> take() SG_EXCLUDES(mutex_);
    std::unique_ptr<PostgresConnection> make(Lease::Kind kind);
    void dropIdle() SG_EXCLUDES(mutex_);
    void giveBack(std::unique_ptr<PostgresConnection> connection) noexcept SG_EXCLUDES(mutex_);

    const PostgresPoolSettings settings_;
    const PostgresErrors errors_;
    const pid_t process_;
    std::atomic<std::uint64_t> round_trips_{0};

    detail::Mutex mutex_;
    std::condition_variable came_;
    std::vector<std::unique_ptr<PostgresConnection>> idle_ SG_GUARDED_BY(mutex_);  // the most recently used is last
    std::size_t taken_ SG_GUARDED_BY(mutex_) = 0;  // the number of calls that have one, or are opening one
};

}  // namespace stategraph::checkpoint
