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

struct SqliteSettings {
    bool create_if_missing = true;
    bool read_only = false;
    std::chrono::milliseconds busy_timeout{};
    std::size_t readers_max = 1;
    bool drop_damaged_log = false;
};

/// A SQLite file with stategraph's tables: a connection for writing, and some for reading. Safe from any thread.
class SqliteDatabase {
public:
    /// Errors: SaverError and CorruptCheckpointError, with the path.
    SqliteDatabase(const std::string& path, const SqliteSettings& settings);
    ~SqliteDatabase();
    SqliteDatabase(const SqliteDatabase&) = delete;
    SqliteDatabase& operator=(const SqliteDatabase&) = delete;

    const SqliteErrors& errors() const noexcept { return errors_; }
    const std::string& dropped() const noexcept { return dropped_; }

    /// Whether this process opened it, and is not a forked child.
    bool isOwnProcess() const noexcept;
    /// Throws SaverError if it was opened for reading only, if a parent of this process opened it, or if its file no
    /// longer exists.
    void checkWritable() const;

    using Write = std::function<void(SqliteConnection&)>;
    enum class Batch : std::uint8_t { joined, alone };

    /// Calls `write` in a transaction, after those that came before. Writes that wait at the same time share one, up to
    /// 64, unless one is to be alone. What `write` throws is thrown here; it must not have stored anything when it
    /// throws ConcurrentUpdateError or InvalidArgumentError, and may be called once more where another write of its
    /// transaction failed. With `sync` it is on the disk when this returns.
    void write(bool sync, const Write& write, Batch batch = Batch::joined);

    /// A connection in a transaction that reads: all is of one moment.
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

    // For the thread that has set is_writing_.
    std::unique_ptr<SqliteConnection> writer_;
    bool writes_synced_ = false;

    detail::Mutex jobs_mutex_;
    std::condition_variable jobs_changed_;
    std::deque<Job*> jobs_ SG_GUARDED_BY(jobs_mutex_);
    bool is_writing_ SG_GUARDED_BY(jobs_mutex_) = false;

    detail::Mutex readers_mutex_;
    std::condition_variable reader_came_;
    std::vector<std::unique_ptr<SqliteConnection>> readers_ SG_GUARDED_BY(readers_mutex_);  // that nobody uses
    std::size_t readers_made_ SG_GUARDED_BY(readers_mutex_) = 0;
};

/// Makes the path ready for SQLite and returns it as SQLite is to be given it. Errors: as SqliteDatabase.
std::string prepareSqliteFile(const std::string& path, const SqliteSettings& settings);

/// Looks at what the file is, and makes it ready: WAL mode, tables. Leaves files of something else as they are.
void prepareSqliteTables(SqliteConnection& connection, const SqliteSettings& settings);

}  // namespace stategraph::checkpoint
