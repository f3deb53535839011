#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/snapshot.h>
#include <rocksdb/wal_filter.h>
#include <rocksdb/write_batch.h>

#include <stategraph/detail/mutex.hpp>

#include "storage/rocksdb/rocksdb_claims.hpp"
#include "storage/rocksdb/rocksdb_errors.hpp"
#include "storage/rocksdb/rocksdb_health.hpp"
#include "storage/rocksdb/rocksdb_keys.hpp"

namespace stategraph::checkpoint {

inline rocksdb::Slice slice(std::string_view text) noexcept { return {text.data(), text.size()}; }

/// The row that says what a database contains, and the version of its grammar that this library writes.
struct DatabaseFormat {
    std::string_view key = format_key;
    int version = key_format_version;
};

struct DatabaseSettings {
    DatabaseOwner owner = DatabaseOwner::saver;
    DatabaseFormat format = {};
    bool create_if_missing = true;
    bool read_only = false;
    /// With `read_only`: rows that a writer adds become visible after at most this time. If it is none, they do not.
    std::optional<std::chrono::milliseconds> follow_every = {};
    /// Whether a database whose log is damaged in the middle is opened without the rows after the damage.
    bool drop_damaged_log = false;
    bool owner_only = true;
    /// RocksDB's options, which are used unchanged if not null. They are used only during construction.
    const rocksdb::Options* rocksdb_options = nullptr;
};

/// A folder among the system's temporary files, which RocksDB needs for a follower. It is removed with the follower.
class FollowerFolder {
public:
    explicit FollowerFolder(const DatabaseErrors& errors);
    FollowerFolder(const FollowerFolder&) = delete;
    FollowerFolder& operator=(const FollowerFolder&) = delete;
    ~FollowerFolder();
    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
    OwnProcess own_process_;
};

/// An open RocksDB database in one of this library's formats. It contains what savers and stores share:
/// opening, locking, writing and errors.
///
/// Thread-safe. A write that fails stops RocksDB; the next write restarts it once the cause is removed. All errors are
/// of the owner's kind and name the path. In a child of a fork every call throws, and the destructor closes nothing.
class Database {
public:
    /// Keeps the database open.
    using Lease = std::shared_ptr<rocksdb::DB>;

    /// Opens the database, or creates one.
    Database(const std::string& path, const DatabaseSettings& settings);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    const DatabaseErrors& errors() const noexcept { return errors_; }
    bool isReadOnly() const noexcept { return read_only_; }
    /// Returns whether this process opened it, and is not a forked child.
    bool isOwnProcess() const noexcept { return static_cast<bool>(own_process_); }
    /// Throws if it is open read_only, if a parent of this process opened it, or if memory ran out within RocksDB.
    void checkWritable() const;
    /// Returns what opening dropped from the end of the log, as a sentence; empty if nothing was dropped.
    const std::string& dropped() const noexcept { return dropped_; }

    /// Returns the open database. Cost: a short lock.
    Lease lease() SG_EXCLUDES(mutex_);
    /// RocksDB gives followers no snapshots. While an object of this class exists, a follower does not catch up, so
    /// that iterators that are created meanwhile see the same moment. Keep it no longer than that.
    class StandStill {
    public:
        explicit StandStill(Database& database);
        StandStill(const StandStill&) = delete;
        StandStill& operator=(const StandStill&) = delete;
        ~StandStill();

    private:
        Database& database_;
    };
    bool isFollowing() const noexcept { return follow_every_.has_value(); }

    /// Returns none if there is no such row. `work` completes "could not ".
    std::optional<std::string> get(std::string_view key, std::string_view work,
                                   const rocksdb::Snapshot* snapshot = nullptr);
    /// Writes all of the batch or, if it throws, none of it. With `sync`, the batch is on the disk on return.
    void write(rocksdb::WriteBatch& batch, bool sync, std::string_view work);

private:
    void checkProcess() const;
    void checkFiles(const DatabaseSettings& settings);
    Lease open() const;
    void heal(std::string_view work) SG_EXCLUDES(healing_, mutex_);
    void follow() SG_REQUIRES(mutex_);
    void reopen() SG_EXCLUDES(mutex_);
    void checkFolder(bool sync);

    DatabaseErrors errors_;
    OwnProcess own_process_;
    bool read_only_;
    std::optional<std::chrono::milliseconds> follow_every_;
    std::optional<FollowerFolder> own_folder_;  // for a follower
    std::string folder_;                        // canonical
    DatabaseFormat format_;
    std::shared_ptr<Health> health_ = std::make_shared<Health>();
    rocksdb::Options options_;
    std::string dropped_;
    std::unique_ptr<rocksdb::WalFilter> filter_;  // kept, because RocksDB has a pointer to it
    std::optional<FolderClaim> claim_;            // only for writers
    std::optional<FolderWatch> watch_;
    std::atomic<std::int64_t> looked_at_ms_ = 0;
    std::atomic<bool> write_thrown_ = false;  // an exception ended a write within RocksDB
    detail::Mutex mutex_;
    detail::Mutex healing_;
    std::chrono::steady_clock::time_point followed_at_ SG_GUARDED_BY(mutex_);
    std::size_t standing_ SG_GUARDED_BY(mutex_) = 0;
    Lease db_ SG_GUARDED_BY(mutex_);  // null if it could not be opened again
};

/// A snapshot: everything that is read under it is from one moment.
class Snapshot {
public:
    explicit Snapshot(Database& database) : db_(database.lease()) {
        if (!database.isFollowing()) snapshot_.emplace(db_.get());
    }
    /// Returns null for a follower; see StandStill.
    const rocksdb::Snapshot* get() { return snapshot_ ? snapshot_->snapshot() : nullptr; }

private:
    Database::Lease db_;
    std::optional<rocksdb::ManagedSnapshot> snapshot_;
};

/// An iterator that owns its bounds, and that throws on errors.
class Cursor {
public:
    Cursor(Database& database, std::string lower, std::string upper, const rocksdb::Snapshot* snapshot = nullptr)
        : db_(database.lease()),
          errors_(database.errors()),
          lower_(std::move(lower)),
          upper_(std::move(upper)),
          lower_slice_(lower_),
          upper_slice_(upper_) {
        rocksdb::ReadOptions options;
        options.iterate_lower_bound = &lower_slice_;
        options.iterate_upper_bound = &upper_slice_;
        options.snapshot = snapshot;
        rows_.reset(db_->NewIterator(options));
    }
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;

    bool seek(std::string_view key) { return rows_->Seek(slice(key)), valid(); }
    bool seekBack(std::string_view key) { return rows_->SeekForPrev(slice(key)), valid(); }
    bool seekToFirst() { return rows_->SeekToFirst(), valid(); }
    bool seekToLast() { return rows_->SeekToLast(), valid(); }
    bool next() { return rows_->Next(), valid(); }
    bool previous() { return rows_->Prev(), valid(); }

    bool valid() const {
        if (rows_->Valid()) return true;
        errors_.check(rows_->status(), "read it");
        return false;
    }
    std::string_view key() const { return rows_->key().ToStringView(); }
    std::string_view value() const { return rows_->value().ToStringView(); }
    bool isIn(std::string_view prefix) const { return valid() && key().starts_with(prefix); }
    bool nextIn(std::string_view prefix) { return next() && key().starts_with(prefix); }

    /// The following are for a saver's rows.
    std::optional<ParsedKey> tryParsed() const { return parseKey(key()); }
    ParsedKey parsed() const {
        if (const auto parsed = tryParsed()) return *parsed;
        errors_.failDamaged("it has a key that cannot be read, 0x" + rows_->key().ToString(true) +
                            "; restore it from a copy");
    }

private:
    Database::Lease db_;
    const DatabaseErrors& errors_;
    std::string lower_;
    std::string upper_;
    rocksdb::Slice lower_slice_;
    rocksdb::Slice upper_slice_;
    std::unique_ptr<rocksdb::Iterator> rows_;
};

}  // namespace stategraph::checkpoint
