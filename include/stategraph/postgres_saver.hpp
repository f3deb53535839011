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

class PostgresListener;
class PostgresQueue;

/// Which puts of a process's threads a PostgresSaver joins in one statement.
struct PostgresJoinOptions {
    /// One statement has at most this many puts, 1 to 1,000; 1: none are joined.
    std::size_t puts_max = 64;
    /// One statement has at most this many bytes of names and records, 1 byte to 100 MiB. A put with more is made
    /// alone.
    std::size_t bytes_max = std::size_t{1} << 20U;
    /// How many such statements are under way at once, each with a connection; at least 1. Puts that come meanwhile
    /// wait for one of them to end.
    std::size_t statements_max = 2;
};

/// Which notifications a PostgresSaver sends (PostgreSQL's NOTIFY), so that a PostgresListener of another process wakes
/// sooner than it would by polling. None by default. A notification follows what it is about in a transaction of its
/// own, from a thread of the saver's: no put and no submission contains one or waits for one, and one that is lost
/// costs a poll.
struct PostgresNotifyOptions {
    /// Of what workers may have to do: inputs, answers, wakes, retries and cancellations that this saver stores.
    bool work = false;
    /// Of each thread to which this saver appends a commit.
    bool commits = false;
    /// All notifications that come within this time are sent together, in one transaction; 1 ms to 1 minute.
    std::chrono::milliseconds interval = std::chrono::milliseconds(10);
};

/// The options of a PostgresSaver.
struct PostgresSaverOptions {
    /// The schema of the tables: any name of 1 to 63 bytes. Savers of one server that name different schemas share
    /// nothing.
    std::string schema = "stategraph";
    /// Call `PostgresSaver::setUp` when opening. Off: a schema without tables is an error that says so.
    bool set_up = false;
    /// Open for reading only; every `put` then throws SaverError. A standby server can be read in this way.
    bool read_only = false;
    /// The largest number of simultaneous calls, each with a connection of its own, which is opened when it is first
    /// needed and then kept; 1 to 1,000. The server's max_connections must be enough for all processes together.
    std::size_t connections_max = 8;
    /// How long a call waits for a connection before it throws SaverError; at least 0.
    std::chrono::milliseconds connection_wait = std::chrono::seconds(10);
    /// How long opening a connection may take, for each server that the conninfo names; at least 1 ms. Looking up a
    /// host name is not included. A `connect_timeout` of the conninfo, in seconds, counts instead.
    std::chrono::milliseconds connect_timeout = std::chrono::seconds(10);
    /// How long one statement may take, 1 ms to 1 hour. After that time the server cancels it, or two seconds later
    /// this process abandons it.
    std::chrono::milliseconds statement_timeout = std::chrono::seconds(30);
    /// How long a call whose connection broke tries to open another one, while a server restarts; at least 0, which
    /// means once.
    std::chrono::milliseconds reconnect_for = std::chrono::seconds(5);
    /// Turn it off for connections through a pooler that gives each transaction another server connection (PgBouncer in
    /// transaction mode): then nothing outlives a transaction, each statement is planned again, and no thread is held
    /// (PostgresSaver::holdsThreads).
    bool prepared_statements = true;
    /// Commits of several threads that are put at the same time are stored by one statement. No put waits for others to
    /// come.
    PostgresJoinOptions join_puts = {};
    /// Tell other processes what was stored. Impossible with `read_only`.
    PostgresNotifyOptions notify = {};
    /// How many threads wait for the server on behalf of asynchronous calls (awaited runs, async durability), each with
    /// a connection; 1 to 64. They begin when they are first needed. Puts that they join wait for `join_puts` alone, so
    /// a few threads serve thousands of runs.
    std::size_t async_threads = 4;
    /// How many supersteps a run with async durability may be ahead of what is stored, 1 to 1,000
    /// (BaseCheckpointSaver::commitsAhead). A run whose supersteps are shorter than a round trip then stores several
    /// commits in each; one whose supersteps are longer is never more than one ahead. With 1, the death of the process
    /// loses at most one superstep.
    std::size_t commits_ahead = 32;
    /// Prune in the background. Impossible with `read_only`.
    std::optional<RetentionOptions> retention = {};
};

/// The lease that a put is made under, as a claim returned it (stategraph/postgres_queue.hpp).
struct PutLease {
    std::int64_t epoch = 0;
    /// The input that is taken from the queue in the same transaction that stores the commits.
    std::optional<std::int64_t> takes = {};
};

/// Keeps threads in a PostgreSQL database (12 or newer), which any number of processes of any number of computers read
/// and write at once.
///
/// A put, a tuple and a page of a list are one round trip each. A commit is one row, inserted after the row of the
/// expected head; a unique index over a log's chain lets one of several writers through, and the others throw
/// ConcurrentUpdateError. A superstep updates no row, and locks that of its log.
///
/// A put with `sync` is on the server's disk when it returns (synchronous_commit=on). A put without `sync` survives the
/// death of this process; a crash of the server loses at most the newest ones, of about half a second.
///
/// A call whose connection breaks opens a new one. A read is then repeated. A put first checks whether it was stored,
/// and is repeated if it was not. The SaverError of a put says so if that is not known.
///
/// Errors while opening (no server, no permission, not set up, of a newer version) are SaverError or
/// CorruptCheckpointError, with server, database and schema. A write that fails (disk full, timeout) throws SaverError
/// and stores nothing; the next one succeeds once the cause is removed.
///
/// After fork() the child must not use an object that its parent made: each call throws SaverError there. Link
/// `stategraph::postgres`.
class PostgresSaver final : public BaseCheckpointSaver {
public:
    /// `conninfo` is libpq's: "postgresql://user@host/database" or "host=… dbname=…"; missing parts come from libpq's
    /// environment variables. Cost: a connection and two round trips.
    explicit PostgresSaver(const std::string& conninfo, const PostgresSaverOptions& options = {});
    ~PostgresSaver() override;

    /// Creates the schema and its tables, if they do not exist. Several processes may call it at the same time. It
    /// needs permission to create objects in the database, or in the schema if that exists. It uses `schema` and the
    /// timeouts of the options. Errors: as opening.
    static void setUp(const std::string& conninfo, const PostgresSaverOptions& options = {});

    void put(const PutRequest& request) override;
    /// Stores a request under a lease, which the statement checks itself: this is one round trip too. Errors: also
    /// LeaseLostError, and nothing is stored, if the epoch is not the thread's any more; ConcurrentUpdateError if the
    /// input was withdrawn. While it runs, nobody can claim the thread. Most programs use a LeasedSaver instead.
    void put(const PutRequest& request, const PutLease& lease);
    std::optional<CheckpointTuple> getTuple(const TupleQuery& query) override;
    /// A put waits for no thread, unless its statement is the next one or it cannot be joined with others
    /// (PostgresSaverOptions::async_threads).
    bool answersLater() const noexcept override { return true; }
    void asyncPut(const PutRequest& request, PutCompletion& completion) noexcept override;
    /// Does the same under a lease, which is copied.
    void asyncPut(const PutRequest& request, const PutLease& lease, PutCompletion& completion) noexcept;
    void asyncGetTuple(const TupleQuery& query, TupleCompletion& completion) noexcept override;
    std::size_t commitsAhead() const noexcept override;
    std::vector<ListedCheckpoint> list(const ListQuery& query) override;
    /// The thread is gone when this returns, and so are its inputs in the queue; what it took is freed later. A worker
    /// that runs it loses its lease.
    void deleteThread(std::string_view thread_id) override;
    /// Deletes a thread under a lease. Errors: also LeaseLostError, and nothing is deleted.
    void deleteThread(std::string_view thread_id, const PutLease& lease);
    void copyThread(std::string_view from, std::string_view to) override;
    std::size_t prune(const PruneRequest& request) override;
    void putGraph(const GraphFingerprint& fingerprint, std::string_view bytes) override;
    std::optional<std::string> getGraph(const GraphFingerprint& fingerprint) override;
    std::optional<std::vector<IndexedThread>> openThreads(const OpenThreadsQuery& query) override;
    std::optional<std::vector<IndexedThread>> newestThreads(const NewestThreadsQuery& query) override;
    std::optional<std::vector<DueThread>> dueThreads(const DueThreadsQuery& query) override;
    std::optional<ThreadCounts> countThreads(std::size_t most) override;
    /// True, except through a pooler in transaction mode (PostgresSaverOptions::prepared_statements is off), where no
    /// connection is the saver's own: there each commit decides between processes.
    bool holdsThreads() const noexcept override;
    /// Holds a thread for runs through this object, unless a run through another object or a worker has it. This
    /// object's puts to the thread are then made under an epoch: they throw LeaseLostError once another has taken it
    /// over. The holder is alive as long as a connection of its own is, which the first call opens: the server sees at
    /// once that a process was killed. A stopped process keeps its threads. Cost: one round trip. The commit after
    /// which nothing is due gives the thread back in its own statement; otherwise that is one round trip too.
    std::unique_ptr<ThreadHold> tryHold(std::string_view thread_id) override;
    /// The size of the tables and their indexes on the server's disk, including space that deletions have freed and
    /// that later rows use.
    std::optional<std::uint64_t> storedBytes() override;

    /// How many requests this object has sent and waited for, those of opening connections included, but not those of
    /// the connection that keeps held threads.
    std::uint64_t roundTrips() const noexcept;

    /// How many puts were stored by a statement together with others (PostgresSaverOptions::join_puts).
    std::uint64_t joinedPuts() const noexcept;

    /// What the prunes in the background did; all zero without `retention`.
    RetentionReport retentionReport() const;

    /// How many statements of notifications were sent (PostgresSaverOptions::notify), those that failed included.
    std::uint64_t notifications() const noexcept;

private:
    friend class PostgresListener;
    friend class PostgresQueue;

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
