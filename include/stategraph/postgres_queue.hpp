#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/print_enum.hpp>
#include <stategraph/graph_fingerprint.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/value.hpp>

// The queue of a PostgreSQL schema: which threads have work to do, when, and which worker has them. Programs that
// submit work use `submit`, `cancel`, `wake`, `retry` and the functions that read; `enlist`, `claim`, `begin`, `renew`
// and `release` are for workers (stategraph/worker.hpp).
namespace stategraph {

struct QueueQuery;
struct QueuePreview;
enum class QueueChange : std::uint8_t;

/// An input of a graph, for a thread.
struct QueuedInput {
    std::string thread_id = {};
    /// The name under which workers have the graph (Worker::add). A thread in the queue keeps its graph.
    std::string graph = {};
    /// An object with a member for each channel that it writes, as `Update<Input>::of` takes it.
    Value input = {};
    /// The queue whose workers take it. An input of a thread that is already in a queue joins that one. Its name does
    /// not end with `*`.
    std::string queue = "default";
    /// If not empty, only the first of several inputs of a thread with the same key is stored, even if it was taken
    /// since (for as long as workers keep keys, WorkerOptions::keys_kept).
    std::string key = {};
    /// Null, or an object by whose members people select threads of the queue (QueueQuery::metadata). The thread has
    /// it until it leaves the queue; a later input's members replace those of the same names.
    Value metadata = {};
};

/// A limit of a queue over all workers, which the database keeps.
struct QueueLimit {
    std::string queue = {};
    /// How many of its threads workers may have at once; none: any number. One whose lease has run out does not count.
    std::optional<std::size_t> runs = {};
    /// How many of its threads may be claimed a second, 0.001 to 1e9; none: any number. After a pause there are as many
    /// more as a second allows, and at least one.
    std::optional<double> rate = {};
    /// How many workers have now. Ignored by `setLimit`.
    std::size_t running = 0;
};

/// What happened to an input that was submitted.
struct Receipt {
    /// The number of the input in the queue, ascending within a thread; for a repeated key the number of the first
    /// input.
    std::int64_t number = 0;
    /// Whether it was stored by this call; false: its key existed already.
    bool is_new = true;
};

/// The state of a thread in the queue.
enum class WorkState : std::uint8_t {
    idle,      // no run has begun: its inputs wait
    begun,     // a run has taken an input, and has not ended
    waits,     // its run waits for an answer, or at a breakpoint
    sleeping,  // its run sleeps (Runtime::sleepUntil)
};
/// The name of a state, as in the enumeration.
const char* toString(WorkState state) noexcept;

/// How a thread stands in the queue now.
enum class QueueStanding : std::uint8_t {
    ready,      // due, or with a lease that ran out
    leased,     // a worker has it
    later,      // waiting for another attempt after a back-off
    sleeping,   // waiting for its wake time
    waiting,    // waiting for an answer
    set_aside,  // no worker takes it before `retry`
    unserved,   // due, but there are workers, and none of them has its graph in a version that did not refuse it
};
/// The name of a standing, as in the enumeration.
const char* toString(QueueStanding standing) noexcept;

/// A thread in the queue. A thread that has nothing to do and waits for nothing is not in it.
struct QueuedThread {
    std::string thread_id = {};
    std::string queue = {};
    std::string graph = {};
    WorkState state = WorkState::idle;
    /// When a worker is to run it; for a leased thread, the end of the lease. None: not before it is woken.
    std::optional<std::chrono::system_clock::time_point> due = {};
    /// The epoch of its lease; 0: no worker has it.
    std::int64_t epoch = 0;
    std::string worker = {};
    /// The number of attempts since it last made progress (Claim::attempts).
    std::int64_t attempts = 0;
    /// The number of waiting inputs.
    std::int64_t inputs = 0;
    bool is_set_aside = false;
    bool is_cancelled = false;
    /// The error of its last run, or why it was set aside; empty if neither.
    std::string error = {};
    QueueStanding standing = QueueStanding::ready;
    /// When it was last claimed, given back or set aside.
    std::chrono::system_clock::time_point since = {};
    /// How many threads a worker may run at once while it runs this one (Claim::apart); 0: any number.
    std::int64_t apart = 0;
};

/// The threads of one queue: how many there are of each standing.
struct QueueStats {
    std::string queue = {};
    std::size_t ready = 0;
    std::size_t leased = 0;
    std::size_t later = 0;
    std::size_t sleeping = 0;
    std::size_t waiting = 0;
    std::size_t set_aside = 0;
    std::size_t inputs = 0;
    /// How long the first of the ready ones has been due; 0 if there is none.
    std::chrono::milliseconds oldest = {};
    std::size_t unserved = 0;
};

/// A worker that serves the queue.
struct QueueWorker {
    std::string name = {};
    std::vector<std::string> queues = {};
    std::vector<std::string> graphs = {};
    std::size_t slots = 0;
    std::chrono::system_clock::time_point since = {};
    /// When it counts as gone, unless it says once more that it is alive, which it does in each third of its lease.
    std::chrono::system_clock::time_point until = {};
    bool is_alive = true;
    /// How many threads are leased under its name.
    std::size_t held = 0;
};

/// A graph that a worker has.
struct ClaimedGraph {
    std::string name = {};
    GraphFingerprint version = {};
};
/// How many threads of a queue a worker takes.
struct ClaimedQueue {
    std::string name = {};
    std::size_t most = 0;
    /// Look only at threads that have been due since a later time than this. While somebody holds an old transaction
    /// open, the server keeps what claims have changed since then, and a claim without this limit steps over all of it.
    /// A worker passes the `Claim::due` of the last thread that it claimed, less a second, and every second none,
    /// because a thread may become due in the past (when a transaction took long). None: all.
    std::optional<std::chrono::system_clock::time_point> due_after = {};
};

/// What PostgresQueue::dueQueues found.
struct DueQueues {
    std::vector<std::string> names = {};
    std::string last = {};
};

/// Which threads a worker claims, and for how long.
struct ClaimRequest {
    /// The name of the worker, for people who look at the queue.
    std::string worker = {};
    /// How long the lease lasts unless it is renewed, by the server's clock; 1 s to 1 day.
    std::chrono::milliseconds lease = std::chrono::seconds(30);
    std::vector<ClaimedGraph> graphs = {};
    std::vector<ClaimedQueue> queues = {};
    /// How many threads this process runs now. It gets no thread that must run with fewer others (Claim::apart), unless
    /// that has been due for as long as a lease lasts.
    std::size_t running = 0;
};

/// A thread that a worker has now.
struct Claim {
    std::string thread_id = {};
    std::string queue = {};
    std::string graph = {};
    /// The epoch of this claim and of no other; its puts carry it (PutLease).
    std::int64_t epoch = 0;
    WorkState state = WorkState::idle;
    /// The number of attempts, including this one, since the thread last made progress (stored a commit). A claim whose
    /// lease ran out counts only if the thread was run alone (`apart` 1): otherwise another thread may be what ended
    /// the process.
    std::int64_t attempts = 0;
    /// 0, or how many threads the process may run at once while it runs this one, itself included: processes that had
    /// it have died, were frozen or cut off. Before such a thread is run, call `begin`.
    std::int64_t apart = 0;
    /// Whether an answer came since a worker last ran the thread.
    bool is_woken = false;
    bool is_cancelled = false;
    /// The thread's newest commit; none if it has no commit.
    CheckpointId head = {};
    /// The version of the graph that last ran it; none if no worker has run it since it entered the queue.
    std::optional<GraphFingerprint> version = {};
    /// The first input of an idle thread, which the first put of a run takes (PutLease::takes).
    std::optional<std::int64_t> input_number = {};
    Value input = {};
    /// Why `input` cannot be read, for example because a newer version of the library stored it; empty: it can.
    std::string unreadable = {};
    std::string error = {};
    /// A number that identifies the time since the server's last crash, for `Release::uptime`.
    std::int64_t uptime = 0;
    /// Since when the thread had been due, by the server's clock.
    std::chrono::system_clock::time_point due = {};
};

/// A lease that a worker holds.
struct HeldLease {
    std::string thread_id = {};
    std::int64_t epoch = 0;
};

/// A lease that was renewed.
struct Renewed {
    std::string thread_id = {};
    /// The thread was cancelled: end its run.
    bool is_cancelled = false;
    /// False: another transaction has locked its row, so that the lease ends when it would have ended before.
    bool is_renewed = true;
};

/// How a worker gives a thread back.
enum class WorkOutcome : std::uint8_t {
    finished,   // nothing is due; it leaves the queue, or its next input is due
    cancelled,  // the requested cancellation is done; otherwise like `finished`
    again,      // it is due now, because the worker ends
    waits,      // it waits for an answer
    sleeps,     // it sleeps until `wake_at`
    retry,      // its run failed with `error`; it is due after `delay`
    set_aside,  // it has failed too often, with `error`; no worker takes it before `retry`
    refused,    // this version of the graph (`version`) cannot run it, for the reason in `error`; other versions may
};

/// The state in which a worker gives a claimed thread back.
struct Release {
    std::string thread_id = {};
    std::int64_t epoch = 0;
    WorkOutcome outcome = WorkOutcome::finished;
    std::optional<std::chrono::system_clock::time_point> wake_at = {};
    std::chrono::milliseconds delay = {};
    std::string error = {};
    GraphFingerprint version = {};
    /// The value from the claim. If the server has crashed since, commits that were not on its disk are gone, so that a
    /// thread that was finished, cancelled, waiting or sleeping is due again: a worker continues it from what is
    /// stored. 0: this is not checked.
    std::int64_t uptime = 0;
};

/// The queue in a saver's schema. Only the server's clock decides what is due and which leases have run out. It uses
/// the saver's connections. Each call is one statement, which is one round trip. Safe from any thread, and from any
/// number of processes.
///
/// Errors of all calls: SaverError; InvalidArgumentError for names that are empty or too long (a thread id has at most
/// ThreadId::size_max bytes). A call whose connection breaks is made once more over a new one. What it then returns,
/// such as a number of threads, counts only what the second attempt changed; the first may have done the work.
/// Link `stategraph::queue`.
class PostgresQueue {
public:
    /// Uses the database of `saver`. Errors: InvalidArgumentError for null.
    explicit PostgresQueue(std::shared_ptr<PostgresSaver> saver);

    static constexpr std::size_t inputs_max = 1'000;            // waiting inputs of one thread
    static constexpr std::size_t input_bytes_max = 16U << 20U;  // bytes of one input as CBOR
    static constexpr std::size_t key_bytes_max = 1'000;
    static constexpr std::size_t metadata_bytes_max = 4'096;  // bytes of an input's metadata as JSON
    static constexpr std::size_t name_bytes_max = 255;        // bytes of the names of queues, graphs and workers

    /// Stores inputs, all of them or none; when this returns, they are on the server's disk. A thread whose run is
    /// under way, sleeps or waits for an answer keeps them until that run has ended, and takes one after the other.
    /// Receipts are in the order of `inputs`. Errors: InvalidArgumentError for an input that is too large, a thread
    /// with `inputs_max` waiting inputs, and a thread that is in the queue with another graph; nothing is stored then.
    /// If the connection breaks, inputs without a key may have been stored: SaverError says so, and does not repeat.
    std::vector<Receipt> submit(std::span<const QueuedInput> inputs);
    Receipt submit(const QueuedInput& input);
    /// Withdraws an input that no run has taken. Returns false if it was taken or does not exist.
    bool withdraw(std::string_view thread_id, std::int64_t number);

    /// Cancels the thread for good: its waiting inputs are deleted, a run under way is stopped when its worker next
    /// renews its leases, and a worker stores the cancellation (CompiledGraph::cancelThread). Returns false if the
    /// thread is not in the queue.
    bool cancel(std::string_view thread_id);
    /// Makes a worker run the thread now, or again if one is running it. Answers that `answer` (stategraph/answer.hpp)
    /// stores do that themselves. Returns false if the thread is not in the queue.
    bool wake(std::string_view thread_id);
    /// Lets workers try a thread that was set aside. Returns false if it was not set aside.
    bool retry(std::string_view thread_id);
    /// Takes the thread from the worker that has it, so that another one may claim it now. What the first one still
    /// stores is refused; it ends the run when it next renews its leases. Returns false if no worker has it.
    bool takeBack(std::string_view thread_id);
    /// Sets the thread aside, for this reason, and takes it from a worker that has it. Returns false if it is not in
    /// the queue, or was set aside already.
    bool putAside(std::string_view thread_id, std::string_view reason);

    /// Does the same to all threads that fit the query (stategraph/queue_query.hpp), in one statement, at most to
    /// `limit`; returns to how many. `reason` is for `set_aside`. Cost: a step for each thread in the queue, and a
    /// write for each that is changed; PostgresSaverOptions::statement_timeout must allow for it.
    std::size_t change(QueueChange change, const QueueQuery& query, std::string_view reason = {},
                       std::size_t limit = 1'000'000);
    /// What `change` would do now: to how many threads, and the first of them. Cost: a step for each thread in the
    /// queue.
    QueuePreview preview(QueueChange change, const QueueQuery& query, std::size_t limit = 20);

    /// Sets the limit of a queue over all workers; without `runs` and `rate` it has none. Claims of such a queue
    /// follow each other. Errors: InvalidArgumentError for a rate that cannot be.
    void setLimit(const QueueLimit& limit);
    /// The queues that have a limit, by name. Cost: a step for each thread that workers have.
    std::vector<QueueLimit> limits();

    /// The thread's entry; none if it has nothing to do and waits for nothing.
    std::optional<QueuedThread> find(std::string_view thread_id);
    /// The threads that were set aside, in the order of names, after a given one. Cost: in proportion to the result.
    std::vector<QueuedThread> setAside(std::size_t limit = 50, std::string_view after_thread_id = {});
    /// The threads with this standing (none: all), in the order of names, after a given one. Cost: a step for each
    /// thread that is looked at.
    std::vector<QueuedThread> list(std::optional<QueueStanding> standing = {}, std::size_t limit = 50,
                                   std::string_view after_thread_id = {});
    /// The statistics of each queue that has threads, by name. Cost: a step for each thread in the queue.
    std::vector<QueueStats> stats();
    /// The workers that have come, and have not left: those that are alive, and those that died within about a day.
    std::vector<QueueWorker> workers();

    /// Says that a worker is alive for `lease` from now, and what it serves. The first call has number 0, and returns
    /// the number for later calls. `graphs` are those of ClaimRequest.
    std::int64_t enlist(std::int64_t number, const QueueWorker& worker, std::span<const ClaimedGraph> graphs,
                        std::chrono::milliseconds lease);
    /// Says that a worker which this object enlisted has ended.
    void leave(std::int64_t number);

    /// Takes due threads: in each queue those that have been due longest, only for the given graphs, and without those
    /// that refused this version; and those that were cancelled, whatever their graph. A claim is on the server's disk
    /// when this returns. A thread whose lease has expired is due like any other. If the connection breaks, threads of
    /// the first attempt may stay leased until their lease expires. `limited` receives the queues that had room for
    /// fewer threads than were wanted (QueueLimit).
    std::vector<Claim> claim(const ClaimRequest& request, std::vector<std::string>* limited = nullptr);
    /// The queues with due threads whose names begin with `prefix`, in the order of names, after a given one; at most
    /// `most`. Cost: two steps for each queue that it looks at, at most 256; `last` is the last of them, or empty if
    /// there is none after it.
    DueQueues dueQueues(std::string_view prefix, std::string_view after, std::size_t most);
    /// Throws what `claim` throws for names and a lease that cannot be, and does nothing else.
    static void checkClaim(const ClaimRequest& request);
    /// Says that threads with a limit (Claim::apart) are now run. Returns the names of those that may be: whose lease
    /// is valid, and whose row nobody has locked.
    std::vector<std::string> begin(std::span<const HeldLease> held);
    /// Extends leases to `lease` from now, all in one statement. Those that are not returned are lost. It has a
    /// connection of its own, and its statement ends after a quarter of the lease, so that nothing that others wait for
    /// holds it up.
    std::vector<Renewed> renew(std::span<const HeldLease> held, std::chrono::milliseconds lease);
    /// Gives threads back; returns the names of those whose lease was still valid.
    std::vector<std::string> release(std::span<const Release> releases);
    /// Forgets some keys of inputs that were taken longer ago than this; returns how many, at most 1,000.
    std::size_t forgetKeys(std::chrono::milliseconds kept);

private:
    bool changeOne(QueueChange change, std::string_view thread_id, std::string_view reason);
    /// Notifies others of so many changes, and returns the number.
    std::size_t noted(QueueChange change, std::size_t changed);

    struct Statements;
    struct OwnConnection;
    std::shared_ptr<PostgresSaver> saver_;
    std::shared_ptr<const Statements> statements_;
    std::shared_ptr<OwnConnection> own_;
};

}  // namespace stategraph
