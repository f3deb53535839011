#pragma once
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <libpq-fe.h>

#include "storage/postgres/postgres_errors.hpp"
#include "storage/postgres/postgres_values.hpp"

namespace stategraph::checkpoint {

struct PostgresSettings {
    std::string conninfo;
    bool read_only = false;
    bool prepared_statements = true;
    std::chrono::milliseconds connect_timeout{};
    std::chrono::milliseconds statement_timeout{};
};

/// Throws InvalidArgumentError if libpq cannot read it; else returns "'database' at host:port", for messages.
std::string postgresPlace(const std::string& conninfo);

/// A statement, and the name under which a connection prepares it.
struct PostgresStatement {
    std::string name;
    std::string sql;
    std::vector<Oid> types;
};

/// A connection to a PostgreSQL server, for one thread at a time. Errors: those of PostgresErrors. After a PostgresLost
/// it is of no use any more.
class PostgresConnection {
public:
    /// `errors`, `settings` and `round_trips`, which counts what is sent and waited for, must outlive it.
    PostgresConnection(const PostgresErrors& errors, const PostgresSettings& settings,
                       std::atomic<std::uint64_t>& round_trips);
    PostgresConnection(const PostgresConnection&) = delete;
    PostgresConnection& operator=(const PostgresConnection&) = delete;
    /// In a child of a fork it says nothing to the server, which would end the parent's connection.
    ~PostgresConnection();

    const PostgresErrors& errors() const noexcept { return errors_; }

    /// Executes a statement; `work` completes "could not ".
    PostgresResult run(const PostgresStatement& statement, const PostgresParameters& parameters, std::string_view work);
    /// The same, with each row handed over as it comes, in a result of its own. What `take` throws is thrown when the
    /// last row has come.
    void stream(const PostgresStatement& statement, const PostgresParameters& parameters, std::string_view work,
                const std::function<void(const PostgresResult&)>& take);
    /// Executes statements without parameters, also several in one text; returns the result of the last one, as text.
    PostgresResult command(const std::string& sql, std::string_view work);

    /// Whether it can be used for another call: it is whole, and in no transaction.
    bool isIdle() const noexcept;

private:
    using Clock = std::chrono::steady_clock;

    void connect();
    void prepareSession();
    void prepare(const PostgresStatement& statement, std::string_view work);
    void send(const PostgresStatement& statement, const PostgresParameters& parameters, std::string_view work);
    void flush(std::string_view work);
    PostgresResult finish(std::string_view work, const std::function<void(const PostgresResult&)>* take);
    PGresult* nextResult(std::string_view work);
    /// False: the time is over.
    bool waitFor(short events) const;
    [[noreturn]] void lose(std::string_view work, const std::string& why);
    void beginCall(std::string_view work);

    const PostgresErrors& errors_;
    const PostgresSettings& settings_;
    std::atomic<std::uint64_t>& round_trips_;
    const pid_t process_;
    PGconn* connection_ = nullptr;
    bool is_lost_ = false;
    Clock::time_point deadline_;
    std::set<std::string, std::less<>> prepared_;
};

}  // namespace stategraph::checkpoint
