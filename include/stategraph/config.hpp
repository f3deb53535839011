#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/member.hpp>
#include <stategraph/detail/print_enum.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/names.hpp>
#include <stategraph/status.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

class Observer;
class StreamHub;

/// When the checkpoints of a run reach the saver, which decides what a crash can lose.
enum class Durability : std::uint8_t {
    /// Each is on disk (fsync) before the next superstep begins: a crash repeats at most the superstep under way.
    sync,
    /// Each is written while the next superstep runs: a killed process loses at most the last one, or as many as the
    /// saver says (BaseCheckpointSaver::commitsAhead), never the input. Only a failure of the machine loses more: what
    /// the operating system had not yet written.
    async,
    /// One, when the run ends, pauses or fails: a crash repeats the whole run.
    exit,
};

/// What a run, or an edit, does if another run of this process is under way on its thread, through the same saver
/// object. With savers that hold threads (BaseCheckpointSaver::holdsThreads) runs do the same between processes and
/// saver objects, but that `replace` waits. Otherwise each commit decides: the second gets ConcurrentUpdateError.
enum class OnBusy : std::uint8_t {
    reject,   // it is refused with ThreadBusyError
    wait,     // it waits for its turn, first come first served
    replace,  // the other ends with Status::cancelled before its next superstep, and this one takes its turn then
};

/// One entry of the metadata that a run's checkpoints carry besides source and step.
struct MetadataEntry {
    std::string key;
    Value value;
    friend bool operator==(const MetadataEntry&, const MetadataEntry&) = default;
};
/// The metadata of a run, in the order in which it was given.
using Metadata = std::vector<MetadataEntry>;

namespace detail {
template <class T>
inline constexpr char context_type = 0;
}

/// A value that the nodes of a run can see (Runtime::context), such as settings, connections or the user. It is shared,
/// never changed and not stored: the caller that resumes a thread passes it again. It is created from any value, or
/// from a shared_ptr to one. It may have several values of different types (`with`).
class RunContext {
public:
    RunContext() noexcept = default;
    template <class T>
        requires(!std::is_same_v<T, RunContext>)
    RunContext(T value) : RunContext(std::make_shared<const T>(std::move(value))) {}
    template <class T>
    RunContext(std::shared_ptr<T> value) noexcept
        : value_(std::move(value)), type_(&detail::context_type<std::remove_cv_t<T>>) {}

    /// The value; null if there is none, or if it has another type.
    template <class T>
    const T* get() const noexcept {
        const char* const type = &detail::context_type<T>;
        return static_cast<const T*>(type_ == type ? value_.get() : inside(type));
    }
    bool empty() const noexcept { return value_ == nullptr; }
    /// This context and another one in one. Of values of the same type, the other's counts.
    RunContext with(RunContext other) const;

private:
    struct Both;
    // The value of a type in a context of several; null if there is none.
    const void* inside(const char* type) const noexcept;

    detail::Member<std::shared_ptr<const void>> value_;
    const char* type_ = nullptr;
};

class RunControl;
struct Config;

/// The configuration of one run.
struct RunConfig {
    /// Needed where the graph has a saver.
    ThreadId thread_id = {};
    /// Start from this checkpoint instead of the newest.
    CheckpointId checkpoint_id = {};
    /// The namespace of a subgraph's log, if the checkpoint belongs to that log: the run, which must be RESUME, begins
    /// inside it. The outer graphs begin where they were then, and continue when it is done.
    detail::Member<std::string> checkpoint_ns = {};
    /// When checkpoints reach the saver.
    Durability durability = Durability::async;
    /// Refuses to begin a thread that was begun before, in any process: ThreadExistsError, or another
    /// ConcurrentUpdateError if somebody begins it at the same time; nothing is done. So a request that is delivered
    /// twice is executed once. RESUME and answers continue a thread, and are not refused. The input is stored before
    /// the first node is called; with `exit` the run is therefore stored as with `async`. It does not go with
    /// OnBusy::replace. Without a saver it does nothing.
    bool only_new = false;
    /// Refuses to run unless this is the newest checkpoint of the thread: ThreadChangedError, and nothing is done. So a
    /// caller that has read the thread (getState) runs it only if it has not continued since, in any process. Answers
    /// and results of tasks that are stored without a checkpoint do not count. Empty: any. It does not go with
    /// checkpoint_id.
    CheckpointId only_at = {};
    /// What to do if another run of this process is under way on the thread.
    OnBusy on_busy = OnBusy::reject;
    /// How long to wait for a turn, at least 0; then ThreadBusyError.
    std::chrono::milliseconds busy_timeout = std::chrono::minutes(1);
    /// How many supersteps the run may take, not counting that of START; at least 1. None: the value that the graph was
    /// compiled with (CompileOptions::recursion_limit), or 25. Each subgraph has its own count.
    std::optional<int> recursion_limit = {};
    /// How many tasks may run at once; at least 1, none: as many as the executor has threads.
    std::optional<int> max_concurrency = {};
    /// Breakpoints instead of the compiled ones; `NodeNames::none()`: none.
    detail::Member<NodeNames> interrupt_before = {};
    /// Breakpoints after nodes instead of the compiled ones; `NodeNames::none()`: none.
    detail::Member<NodeNames> interrupt_after = {};
    /// Stored with each checkpoint of the run. The keys "source", "step" and "parents" are taken.
    detail::Member<Metadata> metadata = {};
    /// Hands the run's events to subscribers of its thread (stategraph/stream_hub.hpp). Not owned: it must outlive the
    /// run.
    StreamHub* hub = nullptr;
    /// Is notified of what the run does (stategraph/observer.hpp), in addition to the graph's own. Not owned: it must
    /// outlive the run.
    Observer* observer = nullptr;
    /// Allows ending the run from outside (stategraph/control.hpp); null: it cannot be ended. With a control or a
    /// timeout, each node is called on a thread of its own, so that the run can end without the node; that costs about
    /// 10 µs per call.
    detail::Member<std::shared_ptr<RunControl>> control = {};
    /// How long the run may take; at least 1 ms. After that time it ends with Status::timed_out, as if it had been
    /// stopped.
    std::optional<std::chrono::milliseconds> timeout = {};
    /// What nodes see in Runtime::context.
    RunContext context = {};

    /// The checkpoint from which the run begins, for `getState` and similar calls.
    operator Config() const;

    /// The default options as a shared object, so that including this header does not instantiate their constructors.
    static const RunConfig& defaults() noexcept;
};

/// Names a checkpoint, or with no `checkpoint_id` the newest of its thread.
struct Config {
    /// The thread.
    ThreadId thread_id = {};
    /// The checkpoint; none: the newest of the thread.
    CheckpointId checkpoint_id = {};
    /// The namespace of a subgraph's log, made of the stored names of nodes; "" is the root.
    detail::Member<std::string> checkpoint_ns = {};

    /// A configuration of a run from this checkpoint.
    operator RunConfig() const;
    friend bool operator==(const Config&, const Config&) = default;
};

/// Returns the namespace of the log that a subgraph of the root graph has for a key (perThread), for
/// `Config::checkpoint_ns`. `node` is its stored name.
std::string keyedNamespace(std::string_view node, std::string_view key);

}  // namespace stategraph
