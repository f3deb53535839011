#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/compatibility.hpp>
#include <stategraph/compiled_graph.hpp>
#include <stategraph/graph_description.hpp>
#include <stategraph/leased_saver.hpp>
#include <stategraph/postgres_queue.hpp>
#include <stategraph/run_control.hpp>
#include <stategraph/task.hpp>

// Workers: processes that take threads from a PostgreSQL queue and run them. Link `stategraph::worker`.
namespace stategraph {

/// Which threads a worker takes from one queue.
struct WorkerQueue {
    std::string name = "default";
    /// The share of the free slots that the queue gets, relative to the other queues that have something to do; 1 to
    /// 1,000.
    int weight = 1;
    /// How many of its threads this worker runs at once; at least 1, none: as many as the worker has slots.
    std::optional<std::size_t> limit = {};
};

/// How a worker runs the threads of one graph.
struct WorkerGraphOptions {
    /// Limits, metadata, durability, context. The worker sets thread, checkpoint and control.
    RunConfig config = {};
    /// The saver with which the graph was compiled, if it wraps the worker's LeasedSaver (an EncryptedSaver).
    std::shared_ptr<BaseCheckpointSaver> saver = {};
};

/// Reported by a worker when it has finished with a thread for now.
struct WorkerEvent {
    std::string thread_id;
    std::string graph;
    std::string queue;
    /// How the work ended. None: the lease was lost, and another worker has the thread.
    std::optional<WorkOutcome> outcome;
    /// The error of the run, or why the worker gave the thread back; empty if neither.
    std::string error;
    /// Which attempt it was since the thread last made progress (Claim::attempts).
    std::int64_t attempts = 0;
    /// How long it waits for the next attempt, with WorkOutcome::retry.
    std::chrono::milliseconds delay = {};
};

/// The options of a Worker.
struct WorkerOptions {
    /// The name that the queue shows as the owner of a thread. Empty: the host's name and the process id.
    std::string name = {};
    /// The queues from which it takes threads, with their weights and limits; at least one.
    std::vector<WorkerQueue> queues = {WorkerQueue{}};
    /// How many threads run at once; 1 to 10,000. One that waits for the server, or for what a coroutine awaits, has no
    /// thread of the operating system; one whose node blocks has one. Commits share a few connections (`join_puts`).
    std::size_t slots = 8;
    /// How long a lease lasts without renewal; 1 s to 1 day. It is renewed after each third of that time. If a worker
    /// dies, another one runs its threads after at most this time.
    std::chrono::milliseconds lease = std::chrono::seconds(30);
    /// How often an idle worker asks for work, with a variation of a quarter; at least 1 ms.
    std::chrono::milliseconds poll_interval = std::chrono::milliseconds(200);
    /// Whether the worker also listens for notifications (PostgresSaverOptions::notify of the programs that give work),
    /// and asks for work when one comes. This takes one more connection and one more thread. Without notifications the
    /// worker still asks every `poll_interval`. Impossible with a saver for poolers (`prepared_statements` off).
    bool listen = false;
    /// After this many attempts without progress a thread is set aside with its error; at least 1. An attempt that ends
    /// because its process died counts only if the process ran nothing else meanwhile (Claim::apart).
    int attempts_max = 5;
    /// How long a thread whose run failed waits, doubled with each attempt up to `backoff_max`; at least 0.
    std::chrono::milliseconds backoff = std::chrono::seconds(1);
    /// The longest such wait; at least `backoff`.
    std::chrono::milliseconds backoff_max = std::chrono::minutes(5);
    /// How long `stop` waits for supersteps under way before it abandons them; at least 0.
    std::chrono::milliseconds drain_timeout = std::chrono::seconds(30);
    /// How long keys of inputs that were taken are remembered; at least 1 s.
    std::chrono::milliseconds keys_kept = std::chrono::hours(7 * 24);
    /// Called on the worker's threads, several at once, when the worker gives a thread back. What it throws is ignored.
    std::function<void(const WorkerEvent& event)> on_left = {};
    /// Called on the worker's own threads when the queue cannot be reached, when a lease ends because it could not be
    /// renewed, and with `listen` when it cannot listen; the worker tries again. What it throws is ignored.
    std::function<void(const std::exception_ptr& error)> on_error = {};
};

/// What a worker has done since it was created. The first group counts the threads that it gave back, by reason.
struct WorkerMetrics {
    std::uint64_t finished = 0;
    std::uint64_t waiting = 0;
    std::uint64_t sleeping = 0;
    std::uint64_t retried = 0;
    std::uint64_t set_aside = 0;
    std::uint64_t refused = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t given_back = 0;
    std::uint64_t leases_lost = 0;

    std::uint64_t claimed = 0;  // threads that were claimed
    std::uint64_t claims = 0;   // statements that claimed, including those without a result
    std::uint64_t woken = 0;    // claims that a notification brought about (WorkerOptions::listen)
    std::uint64_t renewals = 0;
    std::uint64_t errors = 0;  // calls of the queue that have failed
    std::size_t running = 0;   // runs that are under way now
};

namespace detail {

/// How a run ended, without its state.
struct WorkerRunEnd {
    Status status = Status::done;
    std::optional<std::chrono::system_clock::time_point> wake_at = {};
};

/// A graph in the form that a worker needs, for any type of state.
class WorkerGraph {
public:
    WorkerGraph(std::string name, GraphFingerprint version, WorkerGraphOptions options)
        : name_(std::move(name)), version_(version), options_(std::move(options)) {}
    WorkerGraph(const WorkerGraph&) = delete;
    WorkerGraph& operator=(const WorkerGraph&) = delete;
    virtual ~WorkerGraph() = default;

    const std::string& name() const noexcept { return name_; }
    const GraphFingerprint& version() const noexcept { return version_; }
    const WorkerGraphOptions& options() const noexcept { return options_; }

    /// What they are given must exist until the task has ended.
    virtual Task<WorkerRunEnd> start(const Value& input, const RunConfig& config) const = 0;
    virtual Task<WorkerRunEnd> resume(const RunConfig& config) const = 0;
    virtual void cancel(const ThreadId& thread_id) const = 0;
    virtual std::vector<IncompatibleThread> check(BaseCheckpointSaver& saver, const std::string& thread_id) const = 0;

private:
    const std::string name_;
    const GraphFingerprint version_;
    const WorkerGraphOptions options_;
};

/// Makes an update from a Value; for a JsonState include stategraph/json.hpp.
template <class U, class V>
U queuedUpdate(const V& values) {
    if constexpr (requires { U::of(values); }) {
        return U::of(values);
    } else {
        return U::of(toJsonValue(values).as_object());
    }
}

template <class S, class Input, class Output>
class WorkerGraphOf final : public WorkerGraph {
public:
    WorkerGraphOf(std::string name, CompiledGraph<S, Input, Output> graph, WorkerGraphOptions options)
        : WorkerGraph(std::move(name), describeGraph(graph).fingerprint, std::move(options)),
          graph_(std::move(graph)) {}

    Task<WorkerRunEnd> start(const Value& input, const RunConfig& config) const override {
        Update<Input> update = queuedUpdate<Update<Input>>(input);
        Task<Result<Output>> run = graph_.asyncInvoke(std::move(update), config);
        const Result<Output> result = co_await std::move(run);
        co_return endOf(result);
    }
    Task<WorkerRunEnd> resume(const RunConfig& config) const override {
        Task<Result<Output>> run = graph_.asyncInvoke(RESUME, config);
        const Result<Output> result = co_await std::move(run);
        co_return endOf(result);
    }
    void cancel(const ThreadId& thread_id) const override { (void)graph_.cancelThread(thread_id); }
    std::vector<IncompatibleThread> check(BaseCheckpointSaver& saver, const std::string& thread_id) const override {
        return checkCompatibility(saver, graph_, {.thread_id = thread_id});
    }

private:
    static WorkerRunEnd endOf(const Result<Output>& result) { return {result.status, result.wake_at}; }

    CompiledGraph<S, Input, Output> graph_;
};

}  // namespace detail

/// Takes threads from the queue of a LeasedSaver's schema and runs them, as many at once as it has slots, until it is
/// stopped. Any number of workers of any number of processes and computers share a queue; each thread is run by one of
/// them at a time, which holds its lease. They store data of a thread only under that lease.
///
/// A run that fails is tried again after a back-off, and set aside after `attempts_max` attempts without progress. One
/// that asks a question, or sleeps, leaves its slot; an answer (stategraph/answer.hpp) or its wake time makes the
/// thread due. An input that comes while the thread's run has not ended waits. A node may be executed twice if its
/// process dies, as with `recover()`; use Runtime::once for effects. Everything in the log happens once. When a process
/// dies, the threads that it had are tried again with few others, and in the end alone, before one is set aside. A run
/// whose lease has ended by this process's clock calls no function of Runtime::once and no further node.
class Worker {
public:
    /// Prepares a worker; `run` starts it. Errors: InvalidArgumentError for null and for invalid options.
    explicit Worker(std::shared_ptr<LeasedSaver> saver, WorkerOptions options = {});
    /// `run` must have returned; if it has not, the program is terminated with a message.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Adds a graph that was compiled with the worker's saver, under the name that inputs use. To be called before
    /// `run`. Errors: InvalidArgumentError for a name that is empty, too long or taken, and if the worker runs.
    template <class S, class Input, class Output>
    void add(std::string_view name, const CompiledGraph<S, Input, Output>& graph, WorkerGraphOptions options = {}) {
        addGraph(
            std::make_unique<detail::WorkerGraphOf<S, Input, Output>>(std::string(name), graph, std::move(options)));
    }

    /// Works until `stop`, on this thread, and on as many others as there are cores and nodes that block; fewer are
    /// used if no more can be created. Errors: InvalidArgumentError without a graph, if it was called before, and with
    /// `listen` for a saver for poolers; std::system_error if not one thread can be created. If the queue cannot be
    /// reached it reports that and tries again.
    void run();
    /// Makes `run` return: the worker claims nothing more, ends runs after their superstep, gives their threads back,
    /// and abandons runs that have not ended after `drain_timeout`. Safe from any thread, but not from a signal
    /// handler.
    void stop() noexcept;

    WorkerMetrics metrics() const;
    /// The queue from which it takes threads.
    PostgresQueue& queue() noexcept;

private:
    void addGraph(std::unique_ptr<detail::WorkerGraph> graph);

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
