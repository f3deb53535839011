#pragma once
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <stategraph/cache_policy.hpp>
#include <stategraph/detail/builder.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/failure.hpp>
#include <stategraph/names.hpp>
#include <stategraph/retry.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/value.hpp>
#include <stategraph/warm_threads.hpp>

// The options of nodes and of `compile`.
namespace stategraph {

class BaseStore;
class BaseCache;
class Executor;
class IdSource;
class Observer;

/// The options of a node.
struct NodeOptions {
    /// Run only when nothing else is due.
    bool defer = false;
    /// How a failed attempt is tried again; not set: the graph's defaults.
    RetryPolicy retry = {.by_default = true};
    /// Whether its results are kept for tasks with the same input: `.cache = {.ttl = 1min}`.
    CachePolicy cache = {.use = CacheUse::by_default};
    /// Data that drawings show.
    Value metadata = {};
    /// Where the node's Commands may lead. Declare them where no edge leads there, so that compile() can tell what is
    /// reachable.
    NodeNames ends = {};
    /// The node's name in the log, if it had another when threads were first stored: a renamed node continues with its
    /// threads. The log, and what is derived from it (ids, task paths, namespaces, the order of tasks), has this name;
    /// everything else has the node's own name. No other node may have it as its name or stored name. None: the node's
    /// own name.
    std::string stored_as = {};
    /// How long one attempt may take, and how long without progress (Runtime::heartbeat, write, once); at least 1
    /// ms. After that time the attempt is abandoned and fails with NodeTimeoutError; `retry` decides about another one,
    /// and late results are discarded. Not for subgraphs: give limits to their nodes. Such a node is called on a thread
    /// of its own.
    std::optional<std::chrono::milliseconds> timeout = {};
    /// How long one attempt may take without a report of progress; see `timeout`.
    std::optional<std::chrono::milliseconds> idle_timeout = {};
    /// How many of its tasks may run at once in a superstep, such as the calls of one service in a fan-out of Sends; at
    /// least 1, none: as many as the run lets (RunConfig::max_concurrency). Other nodes are not delayed, and no thread
    /// waits. A task that waits for its next attempt counts; an abandoned attempt does not. In a subgraph each visit
    /// counts for itself.
    std::optional<int> max_concurrency = {};

    /// The default options as a shared object, so that including this header does not instantiate their constructors.
    static const NodeOptions& defaults() noexcept;
};

/// Policies of the nodes that do not set their own. They do not apply inside subgraphs.
struct NodeDefaults {
    /// For nodes without `retry`. A node with `.retry = {}` is not retried.
    RetryPolicy retry = {};
    /// For nodes without `cache`. A node with `.cache = {.use = CacheUse::off}` is not cached. A key must fit all other
    /// nodes.
    CachePolicy cache = {.use = CacheUse::off};
};

/// The saver of a graph: a saver, or one of the constants below.
class Checkpointer {
public:
    /// The default: as a node, the graph uses the saver of the graph around it and begins with a new state at each
    /// visit; at the root it has no saver.
    Checkpointer() = default;
    template <class Saver>
    Checkpointer(std::shared_ptr<Saver> saver) : kind_(detail::CheckpointerKind::own), saver_(std::move(saver)) {}
    /// Never called: it explains that savers are shared.
    template <class Saver>
        requires std::is_base_of_v<BaseCheckpointSaver, std::remove_pointer_t<Saver>>
    Checkpointer(const Saver&) {
        static_assert(detail::never<Saver>,
                      "stategraph: savers are shared: .checkpointer = std::make_shared<sg::MemorySaver>()");
    }
    constexpr explicit Checkpointer(detail::CheckpointerKind kind) : kind_(kind) {}
    explicit Checkpointer(detail::LogKey key) : kind_(detail::CheckpointerKind::per_thread), key_(std::move(key)) {}

    detail::CheckpointerKind kind() const noexcept { return kind_; }
    const detail::LogKey& logKey() const noexcept { return key_; }
    const std::shared_ptr<BaseCheckpointSaver>& saver() const noexcept { return saver_; }

private:
    detail::CheckpointerKind kind_ = detail::CheckpointerKind::inherit;
    std::shared_ptr<BaseCheckpointSaver> saver_;
    detail::LogKey key_;
};

/// For a subgraph: nothing is stored; after a pause inside, the subgraph runs again from its beginning.
extern const Checkpointer NO_CHECKPOINTER;
/// For a subgraph: all visits in a thread share one log, so that its state accumulates. Two visits in one superstep are
/// refused.
extern const Checkpointer PER_THREAD;
/// For a subgraph: a log for each key in a thread, such as one for each customer: visits with different keys may be
/// made at the same time. `key(const S&)` receives the state that the visit's input alone creates, and returns UTF-8
/// text of 1 to 256 bytes. It must depend on nothing else, because resuming and `getState` call it again. What it
/// throws is a failure of the node.
template <class F>
Checkpointer perThread(F&& key) {
    using Stored = std::decay_t<F>;
    using State = typename detail::FirstParameter<Stored, void>::Type;
    static_assert(
        !std::is_void_v<State>,
        "stategraph: a key must be callable as f(const S&), S being the subgraph's state, and not be generic");
    return Checkpointer(detail::LogKey{.callable = detail::own(std::forward<F>(key)),
                                       .call =
                                           [](const void* callable, const void* state, std::string& text) {
                                               text = (*static_cast<const Stored*>(callable))(
                                                   *static_cast<const State*>(state));
                                           },
                                       .state = detail::typeKey<State>()});
}
template <class S>
Checkpointer perThread(std::string S::*member) {
    return perThread([member](const S& state) -> const std::string& { return state.*member; });
}

/// The options of `StateGraph::compile`.
struct CompileOptions {
    /// Where threads are kept. Without a saver the graph keeps nothing.
    Checkpointer checkpointer = {};
    /// Breakpoints: runs stop before, or after, these nodes; "*" means all.
    NodeNames interrupt_before = {};
    /// Breakpoints after these nodes; "*" means all.
    NodeNames interrupt_after = {};
    /// Runs tasks at the same time; null: the common executor.
    std::shared_ptr<Executor> executor = {};
    /// Provides the ids in tests.
    std::shared_ptr<IdSource> ids = {};
    /// Is notified of what every run does (stategraph/observer.hpp).
    std::shared_ptr<Observer> observer = {};
    /// Memory across threads, for nodes (Runtime::store). None: a subgraph uses the store of the graph around it.
    std::shared_ptr<BaseStore> store = {};
    /// Where results of nodes with a cache policy are kept, also of those in subgraphs that have no cache themselves;
    /// none: nothing is cached.
    std::shared_ptr<BaseCache> cache = {};
    /// What happens to the other tasks of a superstep when one has failed.
    FailurePolicy on_failure = FailurePolicy::wait;
    /// Whether the log says how long supersteps, tasks and commits took (SnapshotData::took, TaskSnapshot::took): about
    /// 8 bytes a commit and one reading of a clock a superstep. Without a saver nothing is measured. It has no effect
    /// on graphs that are nodes of others; `ids` without IdSource::steady has the same effect as false.
    bool durations = true;
    /// RunConfig::recursion_limit of runs that do not set it; at least 1, none: 25. It also applies to visits of this
    /// graph as a subgraph; without one, a subgraph has the limit of the graph around it.
    std::optional<int> recursion_limit = {};
    /// Keeps the states of threads in memory between runs; by default none is kept. It has no effect on graphs that are
    /// nodes of others.
    WarmThreads warm_threads = {};

    /// The default options as a shared object, so that including this header does not instantiate their constructors.
    static const CompileOptions& defaults() noexcept;
};

}  // namespace stategraph
