#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/compiled_graph.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/opt_in.hpp>
#include <stategraph/detail/print_enum.hpp>

namespace stategraph {

/// A place in a thread's stream of durable events, from which a subscriber can resume.
///
/// `sequence` is the number of a checkpoint: the time in its id, in units of 1/4096 ms since 1970. It ascends from each
/// checkpoint of a thread to the next, in every process, is never given twice, stays what it is when older checkpoints
/// are pruned, and is below 2^53 until 2039. So numbers are not consecutive: what follows n is the smallest that is
/// greater. `index` counts within what the checkpoint reports.
///
/// What graphs inside did in the superstep that led to a checkpoint comes before what the checkpoint itself reports.
/// The place of such an event has a way inside: in the root's superstep to a checkpoint of a graph inside, from there
/// to one of a graph inside that, and so on; `index` then counts within what the last of them reports. Copies share
/// the way.
struct StreamPosition {
    /// Everything that the checkpoint reports.
    static constexpr std::uint32_t whole = 0xFFFF'FFFF;
    /// Events of graphs that are nested more deeply are not durable.
    static constexpr std::size_t depth_max = 32;
    /// One step of the way inside.
    struct Inside {
        /// Which task of the superstep, in the order of tasks.
        std::uint32_t task = 0;
        /// Which graph of the task: 0 for a subgraph, odd numbers for graphs that the node called; 2, 4, … for the
        /// further logs of a subgraph that has keys.
        std::uint32_t visit = 0;
        /// The number of the checkpoint of that graph.
        std::int64_t sequence = 0;
        friend constexpr auto operator<=>(const Inside&, const Inside&) noexcept = default;
    };

    std::int64_t sequence = 0;
    std::uint32_t index = whole;

    /// The place before everything.
    constexpr StreamPosition() noexcept = default;
    constexpr StreamPosition(std::int64_t of_checkpoint, std::uint32_t within = whole) noexcept
        : sequence(of_checkpoint), index(within) {}
    /// A place of a graph inside, in the superstep that led to a checkpoint of the root. Errors: InvalidArgumentError
    /// for a way of more than depth_max steps.
    StreamPosition(std::int64_t of_checkpoint, std::vector<Inside> way, std::uint32_t within = whole);
    /// The place after everything that a checkpoint reports.
    explicit StreamPosition(CheckpointId id) noexcept;
    /// The way inside; empty for a place in the root's own events.
    std::span<const Inside> inside() const noexcept;
    /// "SEQUENCE" or "SEQUENCE-INDEX", to be given to clients, and back; with a way inside
    /// "SEQUENCE/TASK.VISIT.SEQUENCE-INDEX", where each further step begins with "/". Errors: InvalidArgumentError.
    static StreamPosition parse(std::string_view text);
    std::string toString() const;
    /// The order in which a subscriber receives events.
    friend std::strong_ordering operator<=>(const StreamPosition& a, const StreamPosition& b) noexcept;
    friend bool operator==(const StreamPosition& a, const StreamPosition& b) noexcept;

private:
    std::shared_ptr<const std::vector<Inside>> way_;  // null: empty
};

/// What happens when a subscriber reads events more slowly than a run creates them. Durable events are lost only where
/// a policy says so.
enum class OnFull : std::uint8_t {
    // New ephemeral events are dropped and counted (for `runs` the oldest are dropped); the run never waits.
    drop_ephemeral,
    // Parts of one message are joined, then the oldest ephemeral events are dropped; of values and checkpoints only the
    // newest is kept.
    coalesce,
    disconnect,  // the subscription ends; its position says where to begin again
    // The run waits, even beyond a node's time limit, until it is to end itself; then events without space are dropped
    // and counted. Never read such a subscription on the thread that runs the graph.
    block,
};
/// The name of a policy, such as "coalesce".
const char* toString(OnFull policy) noexcept;

/// When a subscription ends by itself.
enum class Until : std::uint8_t {
    closed,  // never: it follows its thread from run to run until it is closed
    // With the first run that ends after the subscription began: it receives all that this run reported, and nothing of
    // later runs.
    run_end,
    idle,  // when it has given everything and no run of this hub is under way; for a reader that catches up
};
const char* toString(Until until) noexcept;

/// Which events a subscriber receives, and from where.
struct SubscribeOptions {
    /// Begin after this place, with the events that the log holds after it. None: begin with the next event that
    /// happens.
    std::optional<StreamPosition> from = {};
    /// The kinds of events that the subscriber receives.
    StreamModes modes = StreamMode::updates;
    /// Events of subgraphs too, with their namespace: as they happen in a run of this hub; and those that the log holds
    /// and that this subscription did not receive live, before the event of the superstep that they belong to.
    /// Cost: for each superstep in which a graph that a node called ended, a listing of the thread's logs.
    bool subgraphs = false;
    /// Whether a task's start has the task's input, as in StreamOptions.
    bool task_inputs = true;
    /// At most this many ephemeral events wait in the buffer; for `block` and `disconnect`, a run may also be this many
    /// checkpoints ahead. At least 1.
    std::size_t capacity = 1024;
    /// How many bytes of ephemeral events may wait (one larger event waits alone); at least 1.
    std::size_t capacity_bytes = 8U << 20U;
    /// What happens when the subscriber is too slow.
    OnFull on_full = OnFull::drop_ephemeral;
    /// How often to read the log for events of other processes that run or edit the thread. 0: only when a run of this
    /// hub reports something.
    std::chrono::milliseconds poll = {};
    /// When the subscription ends by itself. `next` then returns none, and `isClosed` is true.
    Until until = Until::closed;
};

/// An event as a subscriber receives it.
struct HubEvent : StreamEvent {
    /// For a durable event, its own place; for an ephemeral one, the place of the durable event before it. A new
    /// subscription can continue from there.
    StreamPosition position;
    bool durable = false;
};

namespace detail {
struct SubscriptionImpl;
struct HubImpl;
/// Subscription::wake, for code that keeps the implementation.
void wakeReader(const SubscriptionImpl& subscription) noexcept;
}  // namespace detail

/// One subscriber of a thread. One reader at a time may read it; `close` and `wake` may be called from any thread. Its
/// destructor ends it and never waits for a run; a reader that awaits it then receives none. One that was moved from
/// has ended.
class Subscription {
public:
    explicit Subscription(std::shared_ptr<detail::SubscriptionImpl> impl) noexcept;
    Subscription(Subscription&&) noexcept;
    Subscription& operator=(Subscription&&) noexcept;
    ~Subscription();

    /// The next event; waits for it without a limit. None: the subscription has ended. Errors: SaverError,
    /// CorruptCheckpointError; the position is then unchanged, and the call can be repeated.
    std::optional<HubEvent> next();
    /// Does the same, but waits at most that long (0: not at all). It also returns none if the time is over. Errors:
    /// also InvalidArgumentError for a negative time.
    std::optional<HubEvent> next(std::chrono::milliseconds timeout);
    /// The next event for coroutines, with `#include <stategraph/async.hpp>`: `auto event = co_await
    /// subscription.asyncNext()`. No thread waits meanwhile. The log is read where the coroutine resumes, which takes
    /// as long as the saver takes. It may be destroyed while it waits: then nothing is taken, and another reader can
    /// follow. Errors: as `next`; InvalidArgumentError if another reader awaits it.
    Task<std::optional<HubEvent>> asyncNext();
    /// Waits at most that long. Errors: also InvalidArgumentError for a negative time, before it is awaited.
    Task<std::optional<HubEvent>> asyncNext(std::chrono::milliseconds timeout);
    /// Waits in a node: it ends with CancelledError when the run is stopped or the attempt's time is up.
    Task<std::optional<HubEvent>> asyncNext(Runtime& runtime);
    /// Ends the wait of the current or the next reader, which receives none. The subscription stays.
    void wake() noexcept;
    /// The position of the last durable event that was returned.
    StreamPosition position() const noexcept;
    /// Ends the subscription; a reader that waits in `next` receives none.
    void close() noexcept;
    bool isClosed() const noexcept;
    /// Whether it ended because it was too slow (OnFull::disconnect).
    bool wasDisconnected() const noexcept;
    /// Ephemeral events that were dropped.
    std::uint64_t dropped() const noexcept;
    /// Ephemeral events that wait.
    std::size_t waiting() const noexcept;

    const std::shared_ptr<detail::SubscriptionImpl>& impl() const noexcept { return impl_; }

private:
    std::shared_ptr<detail::SubscriptionImpl> impl_;
};

/// Hands the events of a graph's threads to any number of subscribers, across runs, interrupts and processes.
///
///     StreamHub hub(app);
///     auto subscription = hub.subscribe("thread", {.from = last_seen, .until = Until::run_end});
///     app.invoke(input, {.thread_id = "thread", .hub = &hub});       // on another thread
///     while (auto event = subscription.next()) …                     // ends with the run
///
/// A subscription follows its thread across runs, unless it is to end with one (`SubscribeOptions::until`): the mode
/// `runs` reports each beginning and end, with the run's status and the questions that are open. These events are never
/// dropped in favour of others.
///
/// What is reported of committed supersteps is durable: a subscriber reads it from the saver, on its own thread, when
/// it wants it. So nothing of it waits in memory, no subscriber slows the run down (unless it asks to, with
/// OnFull::block), and a subscriber that begins again from the position of its last event gets each event after it
/// exactly once: after a lost connection, an interrupt or a restart alike. Durable are `updates`, when their superstep
/// is committed; `values`, after each commit that changed some; `checkpoints`. They are a function of the log, so what
/// a prune took away is not reported, and supersteps of a run with durability `exit` are reported as far as that stored
/// them. Those of graphs inside are durable from the commit of the root's superstep on, if the graph has a log: they
/// come before that commit's own, in the order of tasks. A subscription with `subgraphs` also receives them as they
/// happen in a run of this hub, as ephemeral events; those that it has received so do not come again from the log.
///
/// All else is ephemeral: `tasks`, `debug`, `custom`, `messages`, `runs`, `calls`. It waits in a buffer with a limit,
/// comes between the durable events where it happened, and is not reported again. Open questions
/// ("__interrupt__", under `updates` or `values`) are state and not past: each subscription receives each of them once
/// that is open when it has got everything before.
///
/// Without a saver everything is ephemeral. Safe from any thread; must outlive its runs, not its subscriptions: once it
/// is destroyed, those that do not poll end when they have given everything. Cost: a run on a thread without
/// subscribers pays a few branches in each superstep; otherwise each commit wakes each subscriber.
class StreamHub {
public:
    template <class S, class Input, class Output>
    explicit StreamHub(const CompiledGraph<S, Input, Output>& graph) : StreamHub(graph.core()) {}
    explicit StreamHub(std::shared_ptr<const detail::Core> core);
    /// For threads whose graph this process does not have, such as those that another process writes
    /// (RocksDBSaverOptions::follow): it reports durable events, with nodes' names and channels' initial values as the
    /// graph's stored description has them, and reads the log every 100 ms unless `SubscribeOptions::poll` is set. A
    /// run cannot have it as its hub. Errors: InvalidArgumentError for null.
    explicit StreamHub(std::shared_ptr<BaseCheckpointSaver> saver);
    StreamHub(const StreamHub&) = delete;
    StreamHub& operator=(const StreamHub&) = delete;
    ~StreamHub();

    /// Begins a subscription. Errors: InvalidArgumentError (no thread id, a limit of 0, a negative `poll`),
    /// MissingCheckpointerError (`from`, without a saver), SaverError.
    Subscription subscribe(const ThreadId& thread_id, const SubscribeOptions& options = {});
    /// Makes the subscribers of a thread read the log: after an edit of its state, or a run without the hub.
    void notify(const ThreadId& thread_id);
    /// The number of subscriptions that have not ended.
    std::size_t subscribers() const;

    detail::HubImpl& impl() noexcept { return *impl_; }

private:
    std::unique_ptr<detail::HubImpl> impl_;
};

}  // namespace stategraph
