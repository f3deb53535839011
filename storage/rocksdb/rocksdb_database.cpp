#include "storage/rocksdb/rocksdb_database.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "storage/rocksdb/rocksdb_checked_tables.hpp"
#include "storage/rocksdb/rocksdb_event_log.hpp"
#include "storage/rocksdb/rocksdb_log_scan.hpp"
#include "storage/rocksdb/rocksdb_open.hpp"

namespace stategraph::checkpoint {
namespace {

constexpr std::int64_t look_every_ms = 100;
constexpr std::string_view resumes_text =
    "the database resumes by itself: the first write after the obstacle is gone succeeds";

std::int64_t roughlyNowMs() {
#ifdef CLOCK_MONOTONIC_COARSE
    timespec now{};  // costs a few nanoseconds, where an exact time costs twenty
    if (::clock_gettime(CLOCK_MONOTONIC_COARSE, &now) == 0)
        return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
#endif
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::uint64_t numberOf(rocksdb::DB& db, const std::string& property) {
    std::uint64_t number = 0;
    db.GetIntProperty(property, &number);
    return number;
}

/// Tries to store that many bytes in a file of the folder; returns the reason if that fails.
std::string findObstacle(const std::string& folder, std::uint64_t bytes) {
    const std::string path = folder + "/probe.dbtmp";
    const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) return std::generic_category().message(errno);
    const std::string block(4096, 'x');
    int error = 0;
    if (::write(file, block.data(), block.size()) != static_cast<ssize_t>(block.size()))
        error = errno == 0 ? ENOSPC : errno;
    if (error == 0) error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes + block.size()));
    if (error == 0 && ::fdatasync(file) != 0) error = errno;
    ::close(file);
    ::unlink(path.c_str());
    return error == 0 ? std::string() : std::generic_category().message(error);
}

// A flush that was under way when the obstacle was removed may still end with its error.
rocksdb::Status resume(rocksdb::DB& db) {
    const rocksdb::Status status = db.Resume();
    return status.ok() ? status : db.Resume();
}

}  // namespace

Database::Database(const std::string& path, const DatabaseSettings& settings)
    : errors_(path, settings.owner),
      read_only_(settings.read_only),
      follow_every_(settings.read_only ? settings.follow_every : std::nullopt),
      folder_(prepareFolder(settings, errors_)),
      format_(settings.format),
      options_(settings.rocksdb_options ? *settings.rocksdb_options : defaultOptions()) {
    if (!read_only_) {
        claim_.emplace(folder_, errors_);
        watch_.emplace(folder_);
        options_.listeners.push_back(health_);
    }
    if (options_.env == rocksdb::Env::Default()) options_.env = envOfCheckedTables(settings.owner_only);
    if (!settings.rocksdb_options) {
        options_.info_log =
            read_only_ ? std::make_shared<EventLog>() : std::make_shared<EventLog>(folder_, settings.owner_only);
    }
    if (follow_every_) {
        own_folder_.emplace(errors_);
        options_.max_open_files = -1;  // keeps files open that a writer deletes meanwhile
    }
    checkFiles(settings);
    options_.create_if_missing = settings.create_if_missing;
    db_ = open();
    options_.wal_filter = nullptr;
    options_.create_if_missing = false;
}

// In a child of a fork, closing would wait for RocksDB's threads, which the child does not have; after a write that an
// exception ended, it would wait for that write.
Database::~Database() {
    if (isOwnProcess() && !write_thrown_) return;
    const detail::LockGuard lock(mutex_);
    (void)new (std::nothrow) Lease(std::move(db_));
}

void Database::checkProcess() const {
    if (isOwnProcess()) return;
    errors_.fail(
        "a parent of this process opened it, and this is a fork of it; start a program (exec), or fork before it is "
        "opened");
}

// RocksDB opens a database with the part of a log or of its list of tables that it can read, and reports nothing.
void Database::checkFiles(const DatabaseSettings& settings) {
    if (options_.wal_recovery_mode != rocksdb::WALRecoveryMode::kPointInTimeRecovery)
        return;  // the caller has chosen to do so
    const LogVerdict verdict = judgeFiles(folder_, options_);
    dropped_ = verdict.dropped;
    if (!verdict.refused.empty()) {
        if (!settings.drop_damaged_log) {
            errors_.failDamaged(verdict.refused +
                                "; restore it from a copy, or set drop_damaged_log to open it without these");
        }
        dropped_ = verdict.refused + ", and were dropped";
        filter_ = stopAfter(verdict.last_sequence);
        options_.wal_filter = filter_.get();
    }
    if (!dropped_.empty()) rocksdb::Log(rocksdb::InfoLogLevel::WARN_LEVEL, options_.info_log, "%s", dropped_.c_str());
}

Database::Lease Database::open() const {
    return openFolder(folder_, options_, read_only_, own_folder_ ? own_folder_->path() : std::string(), format_,
                      errors_);
}

FollowerFolder::FollowerFolder(const DatabaseErrors& errors) {
    std::error_code failed;
    path_ = (std::filesystem::temp_directory_path(failed) / "stategraph-follow-XXXXXX").string();
    if (failed || ::mkdtemp(path_.data()) == nullptr) {
        errors.refuseOpening("following it needs a folder among the temporary files, and none could be made: " +
                             (failed ? failed.message() : std::generic_category().message(errno)));
    }
}

FollowerFolder::~FollowerFolder() {
    if (!own_process_) return;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

Database::StandStill::StandStill(Database& database) : database_(database) {
    database_.lease();  // includes everything written until now
    const detail::LockGuard lock(database_.mutex_);
    ++database_.standing_;
}

Database::StandStill::~StandStill() {
    const detail::LockGuard lock(database_.mutex_);
    --database_.standing_;
}

void Database::follow() {
    const auto now = std::chrono::steady_clock::now();
    if (standing_ > 0 || now - followed_at_ < *follow_every_) return;
    errors_.check(db_->TryCatchUpWithPrimary(), "read what was added to it");
    followed_at_ = now;
}

void Database::checkWritable() const {
    checkProcess();
    if (write_thrown_.load(std::memory_order_relaxed)) {
        errors_.fail(
            "an exception ended a write inside RocksDB, because there was no memory left, and it cannot write any "
            "more; "
            "what was stored is safe: start the program again");
    }
    if (read_only_) errors_.fail("it is open read_only; open it for writing");
}

Database::Lease Database::lease() {
    checkProcess();  // before the lock, which a thread of the parent may have held
    const detail::LockGuard lock(mutex_);
    if (!db_) db_ = open();
    if (follow_every_) follow();
    return db_;
}

std::optional<std::string> Database::get(std::string_view key, std::string_view work,
                                         const rocksdb::Snapshot* snapshot) {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot;
    std::string value;
    const rocksdb::Status status = lease()->Get(options, slice(key), &value);
    if (status.IsNotFound()) return std::nullopt;
    errors_.check(status, work);
    return value;
}

void Database::write(rocksdb::WriteBatch& batch, bool sync, std::string_view work) {
    checkWritable();
    // Before the write, which may make a file in a folder that has taken this one's place.
    checkFolder(sync);
    if (health_->isStopped()) heal(work);
    rocksdb::WriteOptions options;
    options.sync = sync;
    const Lease db = lease();
    rocksdb::Status status;
    try {
        status = db->Write(options, &batch);
    } catch (...) {  // RocksDB still waits for this write to end, and so would each later one
        write_thrown_.store(true, std::memory_order_relaxed);
        throw;
    }
    // Another write may have resumed the database since this one failed.
    const bool resumes = status.IsIOError() || health_->isStopped();
    if (!status.ok()) errors_.failStatus(status, work, resumes ? resumes_text : std::string_view());
}

// A failed write leaves a torn record in the log, after which RocksDB must not write. Resume() writes what is in memory
// to a table, and then begins a new log. If nothing is in memory, it keeps the log; then the database is reopened
// instead.
void Database::heal(std::string_view work) {
    const detail::LockGuard lock(healing_);
    if (!health_->isStopped()) return;
    const std::uint64_t failures = health_->failures();
    Lease db = lease();
    const std::uint64_t memory = numberOf(*db, rocksdb::DB::Properties::kCurSizeAllMemTables);
    if (const std::string obstacle = findObstacle(folder_, memory / 2); !obstacle.empty()) {
        errors_.fail("could not " + std::string(work) + ": a write failed, and writing still does: " + obstacle +
                     ", where " + std::to_string(memory / 2 / 1024 + 4) + " KiB must have room; " +
                     std::string(resumes_text));
    }
    if (health_->logFailed() && numberOf(*db, rocksdb::DB::Properties::kNumEntriesActiveMemTable) == 0) {
        db.reset();
        reopen();
    } else if (const rocksdb::Status status = resume(*db); !status.ok()) {
        errors_.failStatus(status, std::string(work) + ", nor to resume after a write that failed", resumes_text);
    }
    health_->setHealed(failures);
}

void Database::reopen() {
    const detail::LockGuard lock(mutex_);
    if (db_.use_count() > 1)
        errors_.fail("a write failed, and others read it just now; the first write after they are done succeeds");
    db_.reset();
    db_ = open();
}

// Writes to files that no longer have a name, or another one, would succeed.
void Database::checkFolder(bool sync) {
    const std::int64_t now = roughlyNowMs();
    if (!sync && now - looked_at_ms_.load(std::memory_order_relaxed) < look_every_ms) return;
    const FolderWatch::Place place = watch_->look();
    if (place == FolderWatch::Place::here) {
        looked_at_ms_.store(now, std::memory_order_relaxed);
        return;
    }
    looked_at_ms_.store(std::numeric_limits<std::int64_t>::min() / 2, std::memory_order_relaxed);
    if (place == FolderWatch::Place::moved)
        errors_.fail(
            "its folder was renamed while it was open, or another one has taken its place, and RocksDB finds its files "
            "by that name; give the folder its name back, or create a new object with the new name");
    errors_.fail(
        "its folder was deleted or emptied while it was open, and what was stored in it is gone; "
        "restore it from a copy, or create a new object with an empty database");
}

}  // namespace stategraph::checkpoint
