#include "storage/sqlite/sqlite_database.hpp"

#include <algorithm>

#include <sqlite3.h>
#include <unistd.h>

#include <stategraph/error.hpp>

#include "storage/saver/owner_files.hpp"
#include "storage/sqlite/sqlite_log_scan.hpp"

namespace stategraph::checkpoint {
namespace {

constexpr std::size_t jobs_max = 64;
constexpr std::size_t readers_limit = 64;

}  // namespace

void checkSqliteSettings(const SqliteSettings& settings) {
    if (settings.busy_timeout < std::chrono::milliseconds(0))
        throw InvalidArgumentError("busy_timeout is " + std::to_string(settings.busy_timeout.count()) +
                                   " ms; it must be at least 0");
    if (settings.readers_max < 1 || settings.readers_max > readers_limit)
        throw InvalidArgumentError("readers_max is " + std::to_string(settings.readers_max) + "; it must be 1 to " +
                                   std::to_string(readers_limit));
    if (settings.read_only && settings.drop_damaged_log)
        throw InvalidArgumentError("drop_damaged_log: a read_only database is not changed; set one of them only");
}

SqliteDatabase::SqliteDatabase(const std::string& path, const SqliteSettings& settings)
    : errors_(prepareSqliteFile(path, settings), settings.owner), settings_(settings), process_(::getpid()) {
    SqliteFileClaim::check(errors_);
    {
        const detail::LockGuard lock(readers_mutex_);
        readers_.reserve(settings.readers_max);  // so that returning a connection does not throw
    }
    const SqliteLogVerdict verdict = judgeSqliteLog(errors_.path() + "-wal");
    if (!verdict.refused.empty() && !settings.drop_damaged_log)
        errors_.failUnreadable("is damaged: " + verdict.refused +
                               "; restore it from a copy, or open it once with drop_damaged_log");
    dropped_ = verdict.refused.empty() ? verdict.dropped : verdict.refused;
    const int flags = settings.read_only           ? SQLITE_OPEN_READONLY
                      : settings.create_if_missing ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                                   : SQLITE_OPEN_READWRITE;
    if (settings.owner_only && (flags & SQLITE_OPEN_CREATE) != 0) makeOwnerFile(errors_.path());
    auto connection = std::make_unique<SqliteConnection>(errors_, flags, settings.busy_timeout);
    claim_.emplace(errors_);
    prepareSqliteTables(*connection, settings);
    // Otherwise the frames after the damage would be reported as damage again.
    if (!verdict.refused.empty()) connection->run("PRAGMA wal_checkpoint(TRUNCATE)", "drop its damaged log");
    if (settings.read_only) {
        const detail::LockGuard lock(readers_mutex_);
        readers_.push_back(std::move(connection));
        readers_made_ = 1;
        return;
    }
    connection->run("PRAGMA synchronous=NORMAL", "set it up");
    writer_ = std::move(connection);
}

SqliteDatabase::~SqliteDatabase() {
    {
        const detail::LockGuard lock(readers_mutex_);
        readers_.clear();
    }
    writer_.reset();  // last: the connection that closes a file last copies its log into it, which readers may not do
}

bool SqliteDatabase::isOwnProcess() const noexcept { return process_ == ::getpid(); }

void SqliteDatabase::checkProcess() const {
    if (isOwnProcess()) return;
    errors_.fail("process " + std::to_string(process_) +
                 " opened it, and this is a fork of it; start a program (exec), or fork before it is opened");
}

void SqliteDatabase::checkWritable() const {
    checkProcess();
    if (settings_.read_only) errors_.fail("it is open read_only; open it without read_only to change it");
    claim_->checkPlace(errors_);
}

SqliteDatabase::Jobs SqliteDatabase::takeJobs() {
    Jobs jobs;
    jobs.reserve(std::min(jobs_.size(), jobs_max));  // if this throws, all jobs stay in line
    while (!jobs_.empty() && jobs.size() < jobs_max) {
        if (jobs_.front()->batch == Batch::alone && !jobs.empty()) break;
        jobs.push_back(jobs_.front());
        jobs_.pop_front();
        if (jobs.back()->batch == Batch::alone) break;
    }
    return jobs;
}

void SqliteDatabase::write(bool sync, const Write& write, Batch batch) {
    checkWritable();
    Job job{write, sync, batch};
    {
        detail::UniqueLock lock(jobs_mutex_);
        jobs_.push_back(&job);
        jobs_changed_.wait(lock.native(), [&]() SG_REQUIRES(jobs_mutex_) {
            return job.is_done || (!is_writing_ && jobs_.front() == &job);
        });
        if (!job.is_done) {
            is_writing_ = true;
            Jobs jobs;
            try {
                jobs = takeJobs();
            } catch (...) {  // there was no memory, so this job runs alone
                std::erase(jobs_, &job);
                is_writing_ = false;
                jobs_changed_.notify_all();
                throw;
            }
            lock.unlock();
            runJobs(jobs);
            lock.lock();
            is_writing_ = false;
            for (Job* const each : jobs) each->is_done = true;
            jobs_changed_.notify_all();
        }
    }
    if (job.error) std::rethrow_exception(job.error);
}

// Each job is stored, or ends with an error of its own.
void SqliteDatabase::runJobs(const Jobs& jobs) noexcept {
    try {
        transact(jobs);
    } catch (...) {
        writer_->rollBack();
        if (jobs.size() == 1) {
            jobs.front()->error = std::current_exception();
            return;
        }
        // Each job runs by itself, so that a job that cannot be stored does not affect the others.
        for (Job* const job : jobs) {
            job->error = nullptr;
            try {
                Jobs one;
                one.push_back(job);
                transact(one);
            } catch (...) {
                writer_->rollBack();
                job->error = std::current_exception();
            }
        }
    }
}

void SqliteDatabase::transact(const Jobs& jobs) {
    bool sync = false;
    for (const Job* const job : jobs) sync = sync || job->sync;
    if (sync != writes_synced_) {
        writer_->run(sync ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", "set how it writes");
        writes_synced_ = sync;
    }
    const auto finish = [this](const char* sql, const char* work) { SqliteQuery(*writer_, sql, work).finish(); };
    static constexpr const char* begin = "BEGIN IMMEDIATE";
    static constexpr const char* commit = "COMMIT";
    finish(begin, "begin to write");
    for (Job* const job : jobs) {
        try {
            job->write(*writer_);
        } catch (const ConcurrentUpdateError&) {
            job->error = std::current_exception();
        } catch (const InvalidArgumentError&) {
            job->error = std::current_exception();
        }
    }
    finish(commit, "store what was written");
}

std::unique_ptr<SqliteConnection> SqliteDatabase::takeReader() {
    checkProcess();
    {
        detail::UniqueLock lock(readers_mutex_);
        reader_came_.wait(lock.native(), [this]() SG_REQUIRES(readers_mutex_) {
            return !readers_.empty() || readers_made_ < settings_.readers_max;
        });
        if (!readers_.empty()) {
            auto connection = std::move(readers_.back());
            readers_.pop_back();
            return connection;
        }
        ++readers_made_;
    }
    try {
        return std::make_unique<SqliteConnection>(errors_, SQLITE_OPEN_READONLY, settings_.busy_timeout);
    } catch (...) {
        giveBack(nullptr);
        throw;
    }
}

void SqliteDatabase::giveBack(std::unique_ptr<SqliteConnection> connection) noexcept {
    {
        const detail::LockGuard lock(readers_mutex_);
        if (connection) {
            readers_.push_back(std::move(connection));
        } else {
            --readers_made_;
        }
    }
    reader_came_.notify_one();
}

SqliteDatabase::Reading::Reading(SqliteDatabase& database) : database_(database), connection_(database.takeReader()) {
    static constexpr const char* begin = "BEGIN";
    try {
        SqliteQuery(*connection_, begin, "begin to read").finish();
    } catch (...) {
        database_.giveBack(nullptr);
        throw;
    }
}

SqliteDatabase::Reading::~Reading() {
    connection_->rollBack();
    database_.giveBack(std::move(connection_));
}

}  // namespace stategraph::checkpoint
