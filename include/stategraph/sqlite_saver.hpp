#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/retention.hpp>
#include <stategraph/saver.hpp>

namespace stategraph {

/// The options of a SqliteSaver.
struct SqliteSaverOptions {
    /// Create the file, and the folders above it, if it does not exist. Off: a missing file is an error.
    bool create_if_missing = true;
    /// Open for reading only; every `put` then throws SaverError. Each call sees everything that other processes stored
    /// before it. SQLite needs the files FILE-wal and FILE-shm next to the file, and creates them if they are missing.
    bool read_only = false;
    /// How long a write waits for the writes of other processes before it is a SaverError; at least 0.
    std::chrono::milliseconds busy_timeout = std::chrono::seconds(10);
    /// The largest number of calls that read at the same time, 1 to 64; others wait. Each has a connection of its own
    /// with up to 2 MiB of cache, which is opened when it is first needed.
    std::size_t readers_max = 4;
    /// Prune in the background. Impossible with `read_only`.
    std::optional<RetentionOptions> retention = {};
    /// Open a file whose write-ahead log is damaged before its end with what was stored before the damage, and drop the
    /// rest for good. Off: such a file is a CorruptCheckpointError that says where the damage is. Impossible with
    /// `read_only`.
    bool drop_damaged_log = false;
    /// Whether files and folders that are created are for their owner alone (0600 and 0700), whatever the umask. Off:
    /// their rights follow the umask. Those that exist keep theirs.
    bool owner_only = true;
};

/// Keeps threads in a SQLite file, which any number of processes of one computer read and write at once, through any
/// number of these objects.
///
/// Writes run one at a time. Writes of other threads of this object join the same transaction, up to 64; those of other
/// processes wait up to `busy_timeout`. Reads never wait. The file is in WAL mode, so FILE-wal and FILE-shm are next
/// to it while it is open and belong to it; it must be on a disk of this computer, not on a network's.
///
/// A put with `sync` is on the disk when it returns. One without survives the death of the process; a power failure
/// loses at most the newest ones. If the disk kept a later part of the log then and not an earlier one, the file has to
/// be opened once with `drop_damaged_log`.
///
/// Errors while opening (missing, not a database, of something else, read-only, damaged, of a newer format) are
/// SaverError or CorruptCheckpointError with the path. A write that fails (disk full, I/O error) throws SaverError and
/// stores nothing; the next one succeeds once the cause is removed. If the file is deleted or replaced meanwhile, every
/// write throws.
///
/// After fork() the child must not use an object that its parent made, nor open a file that the parent had open at the
/// fork: each call throws SaverError there. It can open another file only if no thread was within SQLite at the fork,
/// whose lock over its memory stays locked otherwise. Start a program (exec), or fork first. Link `stategraph::sqlite`.
class SqliteSaver final : public BaseCheckpointSaver {
public:
    explicit SqliteSaver(const std::string& path, const SqliteSaverOptions& options = {});
    ~SqliteSaver() override;

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
    /// The size of the pages in use. Pages that deletions and prunes have freed do not count: later commits use them,
    /// and only SQL's VACUUM makes the file smaller.
    std::optional<std::uint64_t> storedBytes() override;
    bool putIsSlow() const noexcept override { return false; }
    /// One process runs a thread at a time: it holds a lock in the file PATH-threads, which the system gives back when
    /// the process ends, however it ends. A child that the process forks and that executes no other program keeps the
    /// locks too.
    bool holdsThreads() const noexcept override { return true; }
    std::unique_ptr<ThreadHold> tryHold(std::string_view thread_id) override;

    /// What opening found at the end of the write-ahead log that is not a whole commit, as a sentence with file and
    /// place; empty: nothing. A commit that a dying process or machine wrote in part is dropped in this way; everything
    /// before it is complete.
    std::string droppedAtOpening() const;

    /// What the prunes in the background did; all zero without `retention`.
    RetentionReport retentionReport() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
