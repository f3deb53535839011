#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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
    /// In a child of a fork it leaves all as it is: to close it there would touch the parent's files and locks.
    ~SqliteConnection();

    const SqliteErrors& errors() const noexcept { return errors_; }
    sqlite3* get() const noexcept { return db_; }

    /// `work` completes "could not ".
    void run(const char* sql, const char* work);
    /// The first column of the first row of what such a statement returns, as text; empty if there is none.
    std::string ask(const std::string& sql, const char* work);
    std::int64_t askNumber(const std::string& sql, const char* work);

    /// The statement of a text, prepared when it is first requested. `sql` must outlive the connection, which
    /// identifies it by its address.
    sqlite3_stmt* prepared(const char* sql, const char* work);

    /// Ends a transaction that is open. Throws nothing: where it fails, SQLite has ended it.
    void rollBack() noexcept;

private:
    static int onBusy(void* self, int times) noexcept;

    const SqliteErrors& errors_;
    sqlite3* db_ = nullptr;
    pid_t process_;
    std::chrono::milliseconds busy_timeout_;
    std::chrono::steady_clock::time_point busy_since_;
    std::vector<std::pair<const char*, sqlite3_stmt*>> statements_;
};

/// One execution of a prepared statement. Bound values must outlive it; what the columns of a row point to is valid
/// until the next step.
class SqliteQuery {
public:
    /// `work` completes "could not ".
    SqliteQuery(SqliteConnection& connection, const char* sql, const char* work);
    SqliteQuery(const SqliteQuery&) = delete;
    SqliteQuery& operator=(const SqliteQuery&) = delete;
    ~SqliteQuery();

    /// The next parameter's value.
    SqliteQuery& bind(std::string_view bytes);
    SqliteQuery& bind(const std::string& bytes) { return bind(std::string_view(bytes)); }
    SqliteQuery& bind(CheckpointId id);
    SqliteQuery& bindNumber(std::int64_t number);
    SqliteQuery& bind(const LogName& log) { return bind(log.thread_id).bind(log.checkpoint_ns); }

    /// Whether there is another row.
    bool step();
    /// For statements that return none: how many rows they changed.
    std::int64_t finish();
    /// Begins again, with the next parameter being the first.
    void reset() noexcept;

    std::string_view bytes(int column) const;
    std::int64_t number(int column) const;
    /// Errors: of damage, if it is none.
    CheckpointId id(int column) const;

private:
    void check(int code) const;

    SqliteConnection& connection_;
    sqlite3_stmt* statement_;
    const char* work_;
    int parameter_ = 0;
};

}  // namespace stategraph::checkpoint
