#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/retention.hpp>
#include <stategraph/saver.hpp>

namespace rocksdb {
struct Options;
}

namespace stategraph {

/// The options of a RocksDBSaver.
struct RocksDBSaverOptions {
    /// Create the database if it does not exist. Off: a missing database is an error.
    bool create_if_missing = true;
    /// Open for reading only; every `put` then throws SaverError. Several processes may do so at the same time, also
    /// next to a writer. Without `follow` such a saver shows what was stored when it was opened and never what a writer
    /// adds later; make a new one to see that. While a writer prunes or compacts, files that the reader has not opened
    /// yet disappear, and its reads may throw CorruptCheckpointError or SaverError; make a new one then as well.
    bool read_only = false;
    /// With `read_only`: follow the process that writes. Each call sees what was written before it, or at most
    /// `follow_every` before it. Files that the writer deletes stay readable until this saver has caught up. It keeps a
    /// file open for each table of the database, and a folder of its own among the system's temporary files.
    bool follow = false;
    /// How old the view may be. 0: it is updated before each call, which costs some 10 µs if nothing is new.
    std::chrono::milliseconds follow_every = std::chrono::milliseconds(10);
    /// If not null, these options are used as they are instead of the saver's own, during construction only. Set
    /// `info_log`: in builds of RocksDB with assertions (Debian's is one) the log that it makes by itself ends the
    /// process when the disk is full.
    const rocksdb::Options* rocksdb_options = nullptr;
    /// Prune in the background. Impossible with `read_only`.
    std::optional<RetentionOptions> retention = {};
    /// Open a database whose log is damaged before its end, or whose list of tables is, with what was stored before the
    /// damage, and drop the rest for good. Off: such a database is a CorruptCheckpointError that says where the damage
    /// is and what would be lost.
    bool drop_damaged_log = false;
    /// Whether files and folders that are created are for their owner alone (0600 and 0700), whatever the umask. Off:
    /// their rights follow the umask. Those that exist keep theirs.
    bool owner_only = true;
};

/// Keeps threads in a RocksDB database (a folder), one key a commit and one a pending write.
///
/// One process at a time may write, through one object: a second one gets a SaverError that says so, however the path
/// is spelt. Errors while opening (missing, locked, not a database, read-only, damaged, of a newer format) are
/// SaverError or CorruptCheckpointError with the path.
///
/// A write that fails (disk full, I/O error) throws SaverError. Reading continues to work, and the next write succeeds
/// once the cause is removed: no new object is needed. If the folder is deleted meanwhile, a put with `sync` throws,
/// others do after at most 100 ms.
///
/// After fork() the child must not use an object that its parent made, nor open a folder that the parent had open at
/// the fork: each call throws SaverError there. Start a program (exec), or fork first. Link `stategraph::rocksdb`.
class RocksDBSaver final : public BaseCheckpointSaver {
public:
    explicit RocksDBSaver(const std::string& path, const RocksDBSaverOptions& options = {});
    ~RocksDBSaver() override;

    void put(const PutRequest& request) override;
    std::optional<CheckpointTuple> getTuple(const TupleQuery& query) override;
    std::vector<ListedCheckpoint> list(const ListQuery& query) override;
    void deleteThread(std::string_view thread_id) override;
    void copyThread(std::string_view from, std::string_view to) override;
    std::size_t prune(const PruneRequest& request) override;
    void putGraph(const GraphFingerprint& fingerprint, std::string_view bytes) override;
    std::optional<std::string> getGraph(const GraphFingerprint& fingerprint) override;
    std::optional<std::vector<IndexedThread>> openThreads(const OpenThreadsQuery& query) override;
    std::optional<std::vector<IndexedThread>> newestThreads(const NewestThreadsQuery& query) override;
    std::optional<std::vector<DueThread>> dueThreads(const DueThreadsQuery& query) override;
    std::optional<ThreadCounts> countThreads(std::size_t most) override;
    /// The sizes of the tables and log files on disk. Dropped rows count until RocksDB compacts them away: soon after a
    /// large prune, otherwise at a time that RocksDB chooses. Cost: the number of files.
    std::optional<std::uint64_t> storedBytes() override;
    bool putIsSlow() const noexcept override { return false; }

    /// What opening dropped from the end of the log because it could not be read, as a sentence with file and place;
    /// empty: nothing. A record that a dying process or machine wrote in part is dropped in this way; everything before
    /// it is complete.
    std::string droppedAtOpening() const;

    /// What the prunes in the background did; all zero without `retention`.
    RetentionReport retentionReport() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
