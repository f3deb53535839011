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

// The queue of a PostgreSQL schema: which threads have something to do, when, and which worker has them. Programs that
// give work use `submit`, `cancel`, `wake`, `retry` and what reads; `claim`, `renew` and `release` are for workers
// (stategraph/worker.hpp).
namespace stategraph {

/// An input of a graph, for a thread.
struct QueuedInput {
    std::string thread_id = {};
    /// The name under which workers have the graph (Worker::add). A thread in the queue keeps its graph.
    std::string graph = {};
    /// As `Update<Input>::of` takes it: an object with a member for each channel that it writes.
    Value input = {};
    /// Which workers take it. An input of a thread that is in a queue already joins that one.
    std::string queue = "default";
    /// If not empty: of several inputs of a thread with one key only the first is stored, also if it was taken since
    /// (for as long as workers keep keys, WorkerOptions::keys_kept).
    std::string key = {};
};

/// What became of an input that was submitted.
struct Receipt {
    /// Its number in the queue, ascending within a thread; of a repeated key that of the first one.
    std::int64_t number = 0;
    /// Whether it was stored now; false: its key was there.
    bool is_new = true;
};

/// Where a thread of the queue is.
enum class WorkState : std::uint8_t {
    idle,      // no run has begun: its inputs wait
    begun,     // a run has taken an input, and has not ended
    waits,     // its run waits for an answer, or at a breakpoint
    sleeping,  // its run sleeps (Runtime::sleepUntil)
};
/// The name of a state, as in the enumeration.
const char* toString(WorkState state) noexcept;

/// A thread in the queue. One without anything to do or to wait for is not in it.
struct QueuedThread {
    std::string thread_id = {};
    std::string queue = {};
    std::string graph = {};
    WorkState state = WorkState::idle;
    /// When a worker is to look at it; of a leased one the end of the lease, none: not before somebody says so.
    std::optional<std::chrono::system_clock::time_point> due = {};
    /// 0: nobody has it.
    std::int64_t epoch = 0;
    std::string worker = {};
    /// Claims since it last made progress.
    std::int64_t attempts = 0;
    /// Inputs that wait.
    std::int64_t inputs = 0;
    bool is_set_aside = false;
    bool is_cancelled = false;
    /// What its last run failed with, or why it was set aside; empty if neither.
    std::string error = {};
};

/// The threads of one queue. A thread is in exactly one of the counts from `ready` to `set_aside`.
struct QueueStats {
    std::string queue = {};
    std::size_t ready = 0;     // due, or with a lease that ran out
    std::size_t leased = 0;    // a worker has it
    std::size_t later = 0;     // to be tried again after a back-off
    std::size_t sleeping = 0;  // until its wake time
    std::size_t waiting = 0;   // for an answer
    std::size_t set_aside = 0;
    std::size_t inputs = 0;
    /// How long the first of the ready ones has been due; 0 if there is none.
    std::chrono::milliseconds oldest = {};
};

/// A graph as a worker has it.
struct ClaimedGraph {
    std::string name = {};
    GraphFingerprint version = {};
};
/// How many threads of a queue a worker takes.
struct ClaimedQueue {
    std::string name = {};
    std::size_t most = 0;
};

/// Which threads a worker claims, and for how long.
struct ClaimRequest {
    /// Who claims, for people that look at the queue.
    std::string worker = {};
    /// How long the lease lasts unless it is renewed, by the server's clock; 1 s to 1 day.
    std::chrono::milliseconds lease = std::chrono::seconds(30);
    std::vector<ClaimedGraph> graphs = {};
    std::vector<ClaimedQueue> queues = {};
};

/// A thread that a worker has now.
struct Claim {
    std::string thread_id = {};
    std::string queue = {};
    std::string graph = {};
    /// Of this claim and no other: what its puts are made under (PutLease).
    std::int64_t epoch = 0;
    WorkState state = WorkState::idle;
    /// Claims, with this one, since the thread last made progress (stored a commit).
    std::int64_t attempts = 0;
    /// An answer came since a worker last looked.
    bool is_woken = false;
    bool is_cancelled = false;
    /// The thread's newest commit; none for a thread without.
    CheckpointId head = {};
    /// The version of the graph that last had it; none if no worker had it since it came into the queue.
    std::optional<GraphFingerprint> version = {};
    /// Of a thread that is idle: its first input, which a run's first put takes (PutLease::takes).
    std::optional<std::int64_t> input_number = {};
    Value input = {};
    std::string error = {};
    /// A number for the time since the server's last crash, for `Release::uptime`.
    std::int64_t uptime = 0;
};

/// What a worker has, by its epoch.
struct HeldLease {
    std::string thread_id = {};
    std::int64_t epoch = 0;
};

/// A lease that lasts on.
struct Renewed {
    std::string thread_id = {};
    /// Somebody cancelled the thread: end its run.
    bool is_cancelled = false;
};

/// How a worker leaves a thread.
enum class WorkOutcome : std::uint8_t {
    finished,   // nothing is due; it leaves the queue, or its next input is due
    cancelled,  // the cancel that was asked for is done; otherwise as `finished`
    again,      // it is due now: the worker ends
    waits,      // for an answer
    sleeps,     // until `wake_at`
    retry,      // it is due after `delay`: its run failed with `error`
    set_aside,  // nobody takes it before `retry`: it has failed too often, with `error`
    refused,    // this version of the graph (`version`) cannot run it, as `error` says: others may
};

/// What became of a claimed thread, when its worker gives it back.
struct Release {
    std::string thread_id = {};
    std::int64_t epoch = 0;
    WorkOutcome outcome = WorkOutcome::finished;
    std::optional<std::chrono::system_clock::time_point> wake_at = {};
    std::chrono::milliseconds delay = {};
    std::string error = {};
    GraphFingerprint version = {};
    /// That of the claim. If the server has crashed since, commits that were not on its disk are gone, so that a thread
    /// that was finished, cancelled, waiting or sleeping is due again: a worker continues it from what is stored.
    /// 0: this is not checked.
    std::int64_t uptime = 0;
};

/// The queue in a saver's schema. Only the server's clock decides what is due and which leases have run out. It uses
/// the saver's connections. Each call is one statement, which is one round trip. Safe from any thread, and from any
/// number of processes.
///
/// Errors of all calls: SaverError; InvalidArgumentError for names that are empty or too long (a thread id has at most
/// ThreadId::size_max bytes). A call whose connection breaks is made once more over a new one.
class PostgresQueue {
public:
    /// Errors: InvalidArgumentError for null.
    explicit PostgresQueue(std::shared_ptr<PostgresSaver> saver);

    static constexpr std::size_t inputs_max = 1'000;            // that wait, of one thread
    static constexpr std::size_t input_bytes_max = 16U << 20U;  // of one input as CBOR
    static constexpr std::size_t key_bytes_max = 1'000;
    static constexpr std::size_t name_bytes_max = 255;  // of queues, graphs and workers

    /// Stores inputs, all of them or none; when this returns, they are on the server's disk. A thread whose run is
    /// under way, sleeps or waits for an answer keeps them until that run has ended, and takes one after the other.
    /// Receipts are in the order of `inputs`. Errors: InvalidArgumentError for an input that is too large, a thread
    /// with `inputs_max` waiting inputs, and a thread that is in the queue with another graph; nothing is stored then.
    /// If the connection breaks, inputs without a key may have been stored: SaverError says so, and does not repeat.
    std::vector<Receipt> submit(std::span<const QueuedInput> inputs);
    Receipt submit(const QueuedInput& input);
    /// Takes back an input that no run has taken. False: it was taken, or does not exist.
    bool withdraw(std::string_view thread_id, std::int64_t number);

    /// Ends the thread for good: its waiting inputs go, a run under way is stopped when its worker next renews its
    /// leases, and a worker stores the cancel (CompiledGraph::cancelThread). False: it is not in the queue.
    bool cancel(std::string_view thread_id);
    /// A worker looks at the thread now, or looks again if one has it. Answers that `answer` (stategraph/answer.hpp)
    /// stores do that themselves. False: it is not in the queue.
    bool wake(std::string_view thread_id);
    /// Lets workers try a thread that was set aside. False: it was not.
    bool retry(std::string_view thread_id);

    /// None: nothing of it is to be done, and it waits for nothing.
    std::optional<QueuedThread> find(std::string_view thread_id);
    /// Threads that were set aside, in the order of names, after one of them. Cost: what is returned.
    std::vector<QueuedThread> setAside(std::size_t limit = 50, std::string_view after_thread_id = {});
    /// Of each queue with threads, by name. Cost: a step for each thread in the queue.
    std::vector<QueueStats> stats();

    /// Takes threads that are due: of each queue those that are due longest, and only of the given graphs without those
    /// that refused this version. A claim is on the server's disk when this returns. A lease that ran out is due like
    /// any other thread. If the connection breaks, threads of the first try may stay leased until their lease runs out.
    std::vector<Claim> claim(const ClaimRequest& request);
    /// Makes leases last for `lease` from now on, all in one statement. Those that are not returned are lost.
    std::vector<Renewed> renew(std::span<const HeldLease> held, std::chrono::milliseconds lease);
    /// Gives threads back; returns the names of those whose lease was not lost.
    std::vector<std::string> release(std::span<const Release> releases);
    /// Forgets some keys of inputs that were taken before that long; returns how many, at most 1,000.
    std::size_t forgetKeys(std::chrono::milliseconds kept);

private:
    struct Statements;
    std::shared_ptr<PostgresSaver> saver_;
    std::shared_ptr<const Statements> statements_;
};

}  // namespace stategraph
