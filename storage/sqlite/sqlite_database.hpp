#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/detail/mutex.hpp>

#include "storage/sqlite/sqlite_claims.hpp"
#include "storage/sqlite/sqlite_connection.hpp"

namespace stategraph::checkpoint {

/// Tables that a file may have besides those of threads. They are created when the file is first opened for them. The
/// texts must be static, because these are views.
struct SqlitePart {
    const char* name = nullptr;
    std::int64_t format = 0;
    const char* tables = nullptr;
};

struct SqliteSettings {
    bool create_if_missing = true;
    bool read_only = false;
    std::chrono::milliseconds busy_timeout{};
    std::size_t readers_max = 1;
    bool drop_damaged_log = false;
    bool owner_only = true;
    SqliteOwner owner = SqliteOwner::saver;
    SqlitePart part = {};  // empty for threads alone
};

/// Throws InvalidArgumentError for invalid settings.
void checkSqliteSettings(const SqliteSettings& settings);

/// A SQLite file with stategraph's tables: a connection for writing, and some for reading. Safe from any thread.
class SqliteDatabase {
public:
    /// Opens the file. Errors: InvalidArgumentError for invalid settings; those of SqliteErrors, with the path.
    SqliteDatabase(const std::string& path, const SqliteSettings& settings);
    ~SqliteDatabase();
    SqliteDatabase(const SqliteDatabase&) = delete;
    SqliteDatabase& operator=(const SqliteDatabase&) = delete;

    const SqliteErrors& errors() const noexcept { return errors_; }
    const std::string& dropped() const noexcept { return dropped_; }

    /// Returns whether this process opened it, and is not a forked child.
    bool isOwnProcess() const noexcept;
    /// Throws if it was opened for reading only, if a parent of this process opened it, or if its file no longer
    /// exists.
    void checkWritable() const;
    bool isReadOnly() const noexcept { return settings_.read_only; }

    using Write = std::function<void(SqliteConnection&)>;
    enum class Batch : std::uint8_t { joined, alone };

    /// Calls `write` in a transaction, after the writes that came before. Writes that wait at the same time share one
    /// transaction, up to 64 of them, unless one is to be alone. An exception of `write` is thrown here. `write` must
    /// not have stored anything when it throws ConcurrentUpdateError or InvalidArgumentError, and may be called once
    /// more if another write of its transaction failed. With `sync`, the rows are on the disk when this returns.
    void write(bool sync, const Write& write, Batch batch = Batch::joined);

    /// A connection in a transaction that reads, so that everything is read from one moment.
    class Reading {
    public:
        explicit Reading(SqliteDatabase& database);
        ~Reading();
        Reading(const Reading&) = delete;
        Reading& operator=(const Reading&) = delete;
        SqliteConnection& connection() noexcept { return *connection_; }

    private:
        SqliteDatabase& database_;
        std::unique_ptr<SqliteConnection> connection_;
    };

private:
    struct Job {
        const Write& write;
        bool sync;
        Batch batch;
        bool is_done = false;
        std::exception_ptr error = {};
    };
    using Jobs = std::vector<Job*>;

    void checkProcess() const;
    Jobs takeJobs() SG_REQUIRES(jobs_mutex_);
    void runJobs(const Jobs& jobs) noexcept;
    void transact(const Jobs& jobs);
    std::unique_ptr<SqliteConnection> takeReader();
    void giveBack(std::unique_ptr<SqliteConnection> connection) noexcept;

    const SqliteErrors errors_;
    const SqliteSettings settings_;
    const pid_t process_;
    std::string dropped_;
    std::optional<SqliteFileClaim> claim_;

    // Used by the thread that has set is_writing_.
    std::unique_ptr<SqliteConnection> writer_;
    bool writes_synced_ = false;

    detail::Mutex jobs_mutex_;
    std::condition_variable jobs_changed_;
    std::deque<Job*> jobs_ SG_GUARDED_BY(jobs_mutex_);
    bool is_writing_ SG_GUARDED_BY(jobs_mutex_) = false;

    detail::Mutex readers_mutex_;
    std::condition_variable reader_came_;
    std::vector<std::unique_ptr<SqliteConnection>> readers_ SG_GUARDED_BY(readers_mutex_);  // those that are not in use
    std::size_t readers_made_ SG_GUARDED_BY(readers_mutex_) = 0;
};

/// Prepares the path for SQLite, and returns it in the form that SQLite gets. Errors: as SqliteDatabase.
std::string prepareSqliteFile(const std::string& path, const SqliteSettings& settings);

/// Determines what the file is, and prepares it: WAL mode, and tables. Files with other content are left as they are.
void prepareSqliteTables(SqliteConnection& connection, const SqliteSettings& settings);

}  // namespace stategraph::checkpoint
