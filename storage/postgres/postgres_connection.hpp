#pragma once
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <libpq-fe.h>

#include "storage/postgres/postgres_errors.hpp"
#include "storage/postgres/postgres_hosts.hpp"
#include "storage/postgres/postgres_values.hpp"

namespace stategraph::checkpoint {

struct PostgresSettings {
    std::string conninfo;
    /// Its servers, shared by all connections, so that a new one begins with the server that worked last.
    std::shared_ptr<PostgresHosts> hosts;
    bool read_only = false;
    bool prepared_statements = true;
    std::chrono::milliseconds connect_timeout{};
    std::chrono::milliseconds statement_timeout{};
};

/// Throws InvalidArgumentError if libpq cannot read the conninfo. Otherwise returns "'database' at host:port", for
/// messages.
std::string postgresPlace(const std::string& conninfo);

/// Returns the connect_timeout of a connection string, which counts seconds, at most an hour; or `otherwise` if it has
/// none. (libpq heeds it only in calls that block.)
std::chrono::milliseconds connectTime(const std::string& conninfo, std::chrono::milliseconds otherwise);

/// A statement, and the name under which a connection prepares it.
struct PostgresStatement {
    std::string name;
    std::string sql;
    std::vector<Oid> types;
};

/// A connection to a PostgreSQL server, for one thread at a time. Errors: those of PostgresErrors. After a PostgresLost
/// it can no longer be used.
class PostgresConnection {
public:
    /// `errors`, `settings` and `round_trips` must outlive the connection. `round_trips` counts the requests that were
    /// sent and waited for.
    PostgresConnection(const PostgresErrors& errors, const PostgresSettings& settings,
                       std::atomic<std::uint64_t>& round_trips);
    PostgresConnection(const PostgresConnection&) = delete;
    PostgresConnection& operator=(const PostgresConnection&) = delete;
    /// In a child of a fork it sends nothing to the server, which would otherwise end the parent's connection.
    ~PostgresConnection();

    const PostgresErrors& errors() const noexcept { return errors_; }

    /// Executes a statement; `work` completes "could not ".
    PostgresResult run(const PostgresStatement& statement, const PostgresParameters& parameters, std::string_view work);
    /// Does the same, and passes each row to `take` when it arrives, in a result of its own. An exception of `take` is
    /// thrown when the last row has arrived.
    void stream(const PostgresStatement& statement, const PostgresParameters& parameters, std::string_view work,
                const std::function<void(const PostgresResult&)>& take);
    struct Step {
        const PostgresStatement& statement;
        const PostgresParameters& parameters;
    };
    /// Sends several statements together and waits for all of them, in one round trip. If one fails, those after it are
    /// not executed, and its error is thrown. Returns the result of each of them.
    std::vector<PostgresResult> runAll(std::span<const Step> steps, std::string_view work);
    /// Executes a text without parameters, which may contain several statements. Returns the result of the last one, as
    /// text.
    PostgresResult command(const std::string& sql, std::string_view work);

    /// Returns when everything that other transactions have stored is as durable as a commit with synchronous_commit
    /// on: on the server's disk, and on the standbys that it must wait for. After a crash, a server shows commits that
    /// no standby has. Cost: a round trip, and a record in the server's log.
    void makeDurable(std::string_view work);

    /// Returns the texts of the notifications that have come. If there are none, waits for one, at most that long, and
    /// not after `stop` has become readable.
    std::vector<std::string> notifications(int stop, std::chrono::milliseconds time);

    /// Returns whether it can be used for another call: it is not broken, and is in no transaction.
    bool isIdle() const noexcept;

private:
    using Clock = std::chrono::steady_clock;

    void connect();
    /// Returns why it could not; empty if it could.
    std::string connectTo(std::size_t place);
    void prepareSession();
    void prepare(const PostgresStatement& statement, std::string_view work);
    void send(const PostgresStatement& statement, const PostgresParameters& parameters, std::string_view work);
    void checkSize(const PostgresParameters& parameters, std::string_view work) const;
    void queue(const PostgresStatement& statement, const PostgresParameters& parameters, std::string_view work);
    void finishStep(std::string_view work, PostgresResult& result, std::optional<PostgresFailure>& failure);
    void flush(std::string_view work);
    PostgresResult finish(std::string_view work, const std::function<void(const PostgresResult&)>* take);
    void checkReplicated(std::string_view work);
    PGresult* nextResult(std::string_view work);
    /// Returns false if the time is over.
    bool waitFor(short events) const;
    [[noreturn]] void lose(std::string_view work, const std::string& why);
    void beginCall(std::string_view work);

    const PostgresErrors& errors_;
    const PostgresSettings& settings_;
    std::atomic<std::uint64_t>& round_trips_;
    const pid_t process_;
    PGconn* connection_ = nullptr;
    bool is_lost_ = false;
    bool is_unreplicated_ = false;  // the server has stopped to wait for its standbys
    std::size_t host_ = 0;          // its place in settings_.hosts
    Clock::time_point deadline_;
    std::set<std::string, std::less<>> prepared_;
};

}  // namespace stategraph::checkpoint
