#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/ids.hpp>
#include <stategraph/saver.hpp>

#include "storage/sqlite/sqlite_errors.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace stategraph::checkpoint {

/// A connection to a SQLite file, for one thread at a time. Errors: those of SqliteErrors.
class SqliteConnection {
public:
    /// `flags` are those of sqlite3_open_v2. `errors` must outlive it.
    SqliteConnection(const SqliteErrors& errors, int flags, std::chrono::milliseconds busy_timeout);
    SqliteConnection(const SqliteConnection&) = delete;
    SqliteConnection& operator=(const SqliteConnection&) = delete;
    /// In a child of a fork it does nothing, because closing the connection there would touch the parent's files and
    /// locks.
    ~SqliteConnection();

    const SqliteErrors& errors() const noexcept { return errors_; }
    sqlite3* get() const noexcept { return db_; }

    /// Executes statements; `work` completes "could not ".
    void run(const char* sql, const char* work);
    /// Returns the first column of the first row of the result as text, or an empty text if there is no row.
    std::string ask(const std::string& sql, const char* work);
    std::int64_t askNumber(const std::string& sql, const char* work);

    /// Returns a prepared statement with this text that is not in use, and prepares one if there is none. Call
    /// `giveBack` when it is no longer used. `sql` must exist as long as the connection, which identifies it by its
    /// address.
    sqlite3_stmt* take(const char* sql, const char* work);
    void giveBack(sqlite3_stmt* statement) noexcept;

    /// Ends an open transaction. It throws nothing: if it fails, SQLite has ended the transaction.
    void rollBack() noexcept;

private:
    struct Statement {
        const char* sql;
        sqlite3_stmt* statement;
        bool is_used;
    };

    static int onBusy(void* self, int times) noexcept;

    const SqliteErrors& errors_;
    sqlite3* db_ = nullptr;
    pid_t process_;
    std::chrono::milliseconds busy_timeout_;
    std::chrono::steady_clock::time_point busy_since_;
    std::vector<Statement> statements_;
};

/// One execution of a prepared statement. Bound values must outlive it. What the columns of a row point to is valid
/// until the next step.
class SqliteQuery {
public:
    /// `work` completes "could not ".
    SqliteQuery(SqliteConnection& connection, const char* sql, const char* work);
    SqliteQuery(const SqliteQuery&) = delete;
    SqliteQuery& operator=(const SqliteQuery&) = delete;
    ~SqliteQuery();

    /// Binds the next parameter.
    SqliteQuery& bind(std::string_view bytes);
    SqliteQuery& bind(const std::string& bytes) { return bind(std::string_view(bytes)); }
    SqliteQuery& bind(CheckpointId id);
    SqliteQuery& bindNumber(std::int64_t number);
    SqliteQuery& bind(const LogName& log) { return bind(log.thread_id).bind(log.checkpoint_ns); }

    /// Returns whether there is another row.
    bool step();
    /// For statements that return no rows: executes them, and returns how many rows they changed.
    std::int64_t finish();
    /// Begins again with the first parameter.
    void reset() noexcept;

    std::string_view bytes(int column) const;
    std::int64_t number(int column) const;
    /// Errors: an error of damage if the column is not an id.
    CheckpointId id(int column) const;

private:
    void check(int code) const;

    SqliteConnection& connection_;
    sqlite3_stmt* statement_;
    const char* work_;
    int parameter_ = 0;
};

}  // namespace stategraph::checkpoint
