#pragma once
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/command.hpp>
#include <stategraph/config.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/core.hpp>
#include <stategraph/detail/inputs.hpp>
#include <stategraph/detail/opt_in.hpp>
#include <stategraph/recover.hpp>
#include <stategraph/runtime.hpp>
#include <stategraph/snapshot.hpp>
#include <stategraph/stream.hpp>

// All ways to run and read a graph, each with its contract. The file is longer than others, so that they are in one
// place.
namespace stategraph {

/// How a run ended, and the state it left.
template <class Output>
struct Result : RunOutcome {
    /// The graph's output; for a paused run, including what its finished tasks wrote.
    Output values = {};
};

/// State that is written without running a node.
template <class S>
struct StateUpdate {
    /// What is written.
    Update<S> values = {};
    /// The node in whose name the values are written; its edges fire. None: the node that ran last, if that is one
    /// node. START: the values are the graph's input, and what follows START is due. END: nothing is due any more;
    /// without values. INPUT, COPY: see there.
    std::optional<std::string> as_node = {};
    /// Names and Sends that become due in addition to the node's edges, as with a node's Command. Not with END, INPUT
    /// and COPY.
    Targets go_to = {};
};
/// How an edit is made and stored.
struct UpdateOptions {
    /// The node in whose name the values are written, as in StateUpdate; `bulkUpdateState` uses the one of each
    /// StateUpdate.
    std::optional<std::string> as_node = {};
    /// Names and Sends that become due, as in StateUpdate.
    Targets go_to = {};
    /// When the edit reaches the disk, as for a run; `exit` means `async` here.
    Durability durability = Durability::async;
    /// Refuses the edit if the thread, or the log of the subgraph, has a checkpoint: ThreadExistsError.
    bool only_new = false;
    /// Refuses the edit unless this is the newest checkpoint, as RunConfig::only_at: ThreadChangedError. Empty: any.
    CheckpointId only_at = {};
    /// What to do if a run of this process is under way on the thread.
    OnBusy on_busy = OnBusy::reject;
    /// How long to wait for that run; then ThreadBusyError.
    std::chrono::milliseconds busy_timeout = std::chrono::minutes(1);
};

/// How a thread is cancelled.
struct CancelOptions {
    /// Whether a run of this process that is under way on the thread ends too, with Status::cancelled, before its next
    /// superstep. If not, the run continues, and the thread counts as cancelled if the run leaves something due.
    bool ends_run = true;
    /// How long to wait for such a run, at least 0; then ThreadBusyError. The cancel is stored nevertheless.
    std::chrono::milliseconds busy_timeout = std::chrono::minutes(1);
    /// When the cancellation reaches the disk, as for a run; `exit` means `async` here. A run that is under way stores
    /// the cancellation with its own durability.
    Durability durability = Durability::async;
};

namespace detail {

/// Converts the engine's object of a state type to what users receive; specialised where the two differ.
template <class S>
struct StateBox {
    S state = {};
    void* object() { return &state; }
};

template <class S>
const Schema* schemaIfOne() {
    if constexpr (ChannelState<S>) {
        return &schemaOf<S>();
    } else {
        return nullptr;
    }
}

/// Removes channels that are not present, if the type of the state permits that.
template <class S>
void keepPresent(S&, const ChannelSet&) {}

template <class Output, class S>
Output project(S&& state) {
    if constexpr (std::is_same_v<Output, std::remove_cvref_t<S>>) {
        return std::forward<S>(state);
    } else {
        return projectChannels<Output>(state);
    }
}

}  // namespace detail

namespace detail {

template <class T>
concept IsText = std::is_convertible_v<const T&, std::string_view>;
template <class R, class Text>
[[noreturn]] R refuseText() {
    static_assert(never<Text>, "stategraph: a thread is named in braces: {.thread_id = \"A\"}");
    throw;
}
template <class R, class T>
[[noreturn]] R refuseNoThread() {
    static_assert(never<T>,
                  "stategraph: a run that resumes needs its thread: invoke(sg::RESUME, {.thread_id = \"A\"})");
    throw;
}

/// The outcome of a stream's run after its last event.
template <class Output, class S, class Run>
Result<Output> streamResult(Run& run) {
    Result<Output> result;
    StateBox<S> box;
    static_cast<RunOutcome&>(result) = run.takeOutcome(box.object());
    result.values = project<Output>(std::move(box.state));
    return result;
}

}  // namespace detail

/// The events of a run, one after the other: a range that can be read once. The run advances while it is read; a reader
/// that stops early stops the run after the superstep under way, and the thread can resume from there.
template <class Output, class S>
class Stream {
public:
    explicit Stream(detail::StreamRun* run) : run_(run) { run_->advance(); }

    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = StreamEvent;
        using difference_type = std::ptrdiff_t;
        using pointer = const StreamEvent*;
        using reference = const StreamEvent&;

        Iterator() = default;
        explicit Iterator(Stream* stream) : stream_(stream) {}
        reference operator*() const { return *stream_->run_->event(); }
        pointer operator->() const { return stream_->run_->event(); }
        Iterator& operator++() {
            stream_->run_->advance();
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const {
            return stream_ == nullptr || stream_->run_->event() == nullptr;
        }

    private:
        Stream* stream_ = nullptr;
    };

    Iterator begin() { return Iterator(this); }
    std::default_sentinel_t end() const { return {}; }
    /// How the run ended, and the state that it left. Errors: InvalidArgumentError before the last event; it can be
    /// read once.
    Result<Output> outcome() { return detail::streamResult<Output, S>(*run_); }

private:
    detail::Owned<detail::StreamRun> run_;
};

/// A thread's history: a range that can be read once, and that reads the saver as it advances.
template <class S>
class StateHistory {
public:
    explicit StateHistory(detail::HistoryReader* reader) : reader_(reader) {}

    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = StateSnapshot<S>;
        using difference_type = std::ptrdiff_t;
        using pointer = const StateSnapshot<S>*;
        using reference = const StateSnapshot<S>&;

        Iterator() = default;
        explicit Iterator(StateHistory* history) : history_(history) {}
        reference operator*() const { return *history_->current_; }
        pointer operator->() const { return &*history_->current_; }
        Iterator& operator++() {
            history_->advance();
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const { return history_ == nullptr || !history_->current_; }

    private:
        StateHistory* history_ = nullptr;
    };

    Iterator begin() {
        if (!started_) advance();
        return Iterator(this);
    }
    std::default_sentinel_t end() const { return {}; }
    /// Never called: it explains that a history is read as it is walked.
    template <class T = S>
    detail::Anything size() const {
        static_assert(detail::never<T>,
                      "stategraph: a history is read as it is walked and has no size: count it in a loop, `for (const "
                      "auto& snapshot : history)`");
        throw;
    }
    template <class T = S>
    StateSnapshot<T> operator[](std::size_t) const {
        static_assert(detail::never<T>,
                      "stategraph: a history is read as it is walked, newest first: `for (const auto& snapshot : "
                      "history)`");
        throw;
    }

private:
    void advance() {
        started_ = true;
        StateSnapshot<S> snapshot;
        detail::StateBox<S> box;
        if (last_ && reader_->takesBack()) {
            snapshot.values_as_cbor = std::move(last_->values_as_cbor);
            box.state = std::move(last_->values);
        }
        last_.reset();
        if (reader_->next(snapshot,
                          {detail::typeKey<S>(), box.object(), &snapshot.present, detail::schemaIfOne<S>()})) {
            snapshot.values = std::move(box.state);
            if (reader_->takesBack()) last_ = std::move(current_);
            current_ = std::move(snapshot);
        } else {
            current_.reset();
        }
    }

    detail::Owned<detail::HistoryReader> reader_;
    std::optional<StateSnapshot<S>> current_;
    std::optional<StateSnapshot<S>> last_;  // the previous one, for its values
    bool started_ = false;
};

/// A graph that has been checked and can be run. It never changes; copies are cheap and share it; every method is safe
/// from any thread. `S` is its state, `Input` and `Output` the parts it takes and returns.
///
/// Errors of all methods, besides those they name: InvalidArgumentError (an unknown checkpoint, a limit below 1, no
/// thread id where there is a saver, a graph that was moved from), SaverError and CorruptCheckpointError. On an error
/// the thread is as its last whole superstep left it, with the results of tasks that finished after it.
template <class S, class Input = S, class Output = S>
class CompiledGraph {
public:
    using State = S;

    explicit CompiledGraph(std::shared_ptr<const detail::Core> core) : core_(std::move(core)) {}

    /// Runs until nothing is due, a breakpoint or an interrupt. A thread that has state continues with the input added
    /// to it; tasks that were due are dropped. With `config.checkpoint_id` the run begins a branch at that checkpoint.
    /// Errors: NodeError, InvalidUpdateError, GraphRecursionError, ConcurrentUpdateError.
    Result<Output> invoke(Update<Input> input, const RunConfig& config = RunConfig::defaults()) const {
        return invokeWith(detail::widen<S>(std::move(input)), config);
    }

    /// Resumes the thread: unfinished tasks run, finished ones do not run again. With `config.checkpoint_id` the run
    /// goes back in time: it forks at that checkpoint, and everything after it runs again. Errors: also EmptyInputError
    /// on a thread without state.
    Result<Output> invoke(ResumeTag, const RunConfig& config) const {
        detail::RunInput input;
        input.kind = detail::RunInput::Kind::resume;
        return invokeWith(std::move(input), config);
    }

    /// Answers interrupts, edits state and redirects, then continues.
    /// Errors: also InvalidArgumentError, listing the open interrupts, if an answer fits none or several.
    template <class C>
    Result<Output> invoke(Command<C> command, const RunConfig& config) const {
        return invokeWith(detail::commandOf<S>(std::move(command)), config);
    }

    /// Never called: they explain what a call lacks, or has in another form.
    template <class Text>
        requires detail::IsText<Text>
    Result<Output> invoke(const Update<Input>&, const Text&) const {
        return detail::refuseText<Result<Output>, Text>();
    }
    template <class T = S>
    Result<Output> invoke(ResumeTag) const {
        return detail::refuseNoThread<Result<Output>, T>();
    }
    template <class C>
    Result<Output> invoke(const Command<C>&) const {
        return detail::refuseNoThread<Result<Output>, C>();
    }

    /// Stores an input, or a Command, as the beginning of a run does, and returns without running: the thread is then
    /// in flight (stategraph/unfinished.hpp), and `recover()` or RESUME, in this process or another, runs it as
    /// `invoke` would have. The same is stored, except for the part of the ids that is one for each run. With
    /// `config.checkpoint_id` an input begins a branch at that checkpoint. Observers and subscribers are notified only
    /// of the run that executes it; of the config's limits and context, only those for waiting (`on_busy`) are used.
    /// Durability `exit` is as `async`. A Command cannot name a checkpoint_id: fork there first (stategraph/fork.hpp).
    /// Returns the newest checkpoint's config. Errors: as `invoke` before its first node is called;
    /// MissingCheckpointerError.
    Config submit(Update<Input> input, const RunConfig& config) const {
        return detail::submit(*core(), detail::inputOf<S>(std::move(input)), config);
    }
    template <class C>
    Config submit(Command<C> command, const RunConfig& config) const {
        return detail::submit(*core(), detail::commandOf<S>(std::move(command)), config);
    }

    /// Runs like `invoke`, and reports event by event to `take(const StreamEvent&)` on the thread where each event
    /// happens.
    template <class In, class F>
    Result<Output> stream(In input, const RunConfig& config, const StreamOptions& options, F take) const {
        struct Sink final : detail::EventSink {
            explicit Sink(F& f) : take_(f) {}
            void take(StreamEvent&& event) override { take_(event); }
            F& take_;
        } sink(take);
        Result<Output> result;
        detail::StateBox<S> box;
        static_cast<RunOutcome&>(result) =
            detail::run(*core(), detail::toRunInput<S, Input>(std::move(input)), config, options, sink, box.object());
        result.values = detail::project<Output>(std::move(box.state));
        return result;
    }
    template <class F>
    Result<Output> stream(Update<Input> input, const RunConfig& config, const StreamOptions& options, F take) const {
        return stream<Update<Input>, F>(std::move(input), config, options, std::move(take));
    }

    /// Runs like `invoke`, as a range of events.
    template <class In>
    Stream<Output, S> stream(In input, const RunConfig& config = RunConfig::defaults(),
                             const StreamOptions& options = {}) const {
        return Stream<Output, S>(
            new detail::StreamRun(core(), detail::toRunInput<S, Input>(std::move(input)), config, options));
    }
    Stream<Output, S> stream(Update<Input> input, const RunConfig& config = RunConfig::defaults(),
                             const StreamOptions& options = {}) const {
        return stream<Update<Input>>(std::move(input), config, options);
    }
    /// Never called.
    template <class Text>
        requires detail::IsText<Text>
    Stream<Output, S> stream(const Update<Input>&, const RunConfig&, const Text&) const {
        static_assert(detail::never<Text>,
                      "stategraph: options have names: stream(input, config, {.modes = sg::StreamMode::updates})");
        throw;
    }

    /// Runs like `invoke` for coroutines, with `#include <stategraph/async.hpp>`: `auto result = co_await
    /// app.asyncInvoke(…)`. Arguments are copied before the functions return, and may be written in the `co_await`
    /// expression itself. Blocking nodes of a superstep with several tasks run on the executor; a single one, and calls
    /// of the saver, run where the awaiting coroutine resumes. Errors: as `invoke`, when it is awaited.
    Task<Result<Output>> asyncInvoke(Update<Input> input, const RunConfig& config = RunConfig::defaults()) const;
    Task<Result<Output>> asyncInvoke(ResumeTag, const RunConfig& config) const;
    template <class C>
    Task<Result<Output>> asyncInvoke(const Command<C>& command, const RunConfig& config) const;
    /// Does the same as `submit`; only the wait for the thread's turn (OnBusy) does not block.
    Task<Config> asyncSubmit(Update<Input> input, const RunConfig& config) const;
    template <class C>
    Task<Config> asyncSubmit(const Command<C>& command, const RunConfig& config) const;
    /// Runs like `stream` for coroutines: `while (auto event = co_await stream.next())`.
    template <class In>
    AsyncStream<Output, S> asyncStream(const In& input, const RunConfig& config, const StreamOptions& options) const;
    AsyncStream<Output, S> asyncStream(Update<Input> input, const RunConfig& config,
                                       const StreamOptions& options) const;

    /// The thread's state. Without `checkpoint_id` the newest, with what finished tasks of an unfinished superstep
    /// wrote; with it, the checkpoint as stored. A RunConfig can be given as the config. `T` is the state of the
    /// subgraph that the config's `checkpoint_ns` names: if its type differs, only `valuesAsJson` of the snapshot is
    /// filled, and not `values`. Errors: MissingCheckpointerError.
    template <class T = S>
    StateSnapshot<T> getState(const Config& config, const GetStateOptions& options = {}) const {
        StateSnapshot<T> snapshot;
        detail::StateBox<T> box;
        static_cast<SnapshotData&>(snapshot) =
            detail::readState(*core(), config, options.subgraphs,
                              {detail::typeKey<T>(), box.object(), &snapshot.present, detail::schemaIfOne<T>()});
        snapshot.values = std::move(box.state);
        detail::keepPresent(snapshot.values, snapshot.present);
        return snapshot;
    }
    /// Never called.
    template <class Text>
        requires detail::IsText<Text>
    StateSnapshot<S> getState(const Text&) const {
        return detail::refuseText<StateSnapshot<S>, Text>();
    }

    /// The thread's checkpoints, newest first, as stored; `T` as in getState. Errors: as getState, while it is read.
    template <class T = S>
    StateHistory<T> getStateHistory(const Config& config, const HistoryOptions& options = {}) const {
        return StateHistory<T>(new detail::HistoryReader(core(), config, options));
    }
    /// Never called.
    template <class Text>
        requires detail::IsText<Text>
    StateHistory<S> getStateHistory(const Text&) const {
        return detail::refuseText<StateHistory<S>, Text>();
    }

    /// Writes state as if a node had written it: through the reducers, and the node's edges fire. Creates a checkpoint
    /// whose parent is the one that `config` names, and returns its config; other tasks that were due are no longer
    /// due. For a subgraph's log (`checkpoint_ns`) pass an update of that subgraph's state. An edit is not a run:
    /// `recover()` does not run what is due after it unless RecoverOptions::edited is set (Status::edited). Errors:
    /// InvalidUpdateError (an unknown node, or none given and not clear which; an update of another type of state).
    Config updateState(const Config& config, Update<S> values, const UpdateOptions& options = {}) const {
        return updateState<S>(config, std::move(values), options);
    }
    template <class T>
    Config updateState(const Config& config, Update<T> values, const UpdateOptions& options = {}) const {
        return bulkUpdateState<T>(
            config, {{StateUpdate<T>{.values = std::move(values), .as_node = options.as_node, .go_to = options.go_to}}},
            options);
    }

    /// Never called.
    template <class Text>
        requires detail::IsText<Text>
    Config updateState(const Text&, const Update<S>&, const UpdateOptions& = {}) const {
        return detail::refuseText<Config, Text>();
    }
    template <class Text>
        requires detail::IsText<Text>
    Config updateState(const Config&, const Update<S>&, const Text&) const {
        static_assert(detail::never<Text>,
                      "stategraph: options have names: updateState(config, values, {.as_node = \"node\"})");
        throw;
    }

    /// Several edits, each inner list as one superstep: one checkpoint each. If a superstep has several edits, each
    /// names its node; `as_node` and `go_to` of the options are not used. Edits that follow a copy (COPY) are the
    /// results of the tasks that are due there.
    Config bulkUpdateState(const Config& config, const std::vector<std::vector<StateUpdate<S>>>& supersteps,
                           const UpdateOptions& options = {}) const {
        return bulkUpdateState<S>(config, supersteps, options);
    }
    template <class T>
    Config bulkUpdateState(const Config& config, const std::vector<std::vector<StateUpdate<T>>>& supersteps,
                           const UpdateOptions& options = {}) const {
        detail::Edits edits(detail::typeKey<T>());
        for (const auto& superstep : supersteps) {
            edits.beginSuperstep();
            for (const auto& update : superstep) edits.add(update.values, update.as_node, update.go_to);
        }
        return detail::editState(*core(), config, edits, options);
    }

    /// Cancels a thread for good: nothing of it is due any more and its questions are closed, whether it is suspended,
    /// sleeps, has failed, or was left by a process that died. It is not listed as unfinished, `recover()` does not run
    /// it, and a run that would resume it is refused with InvalidArgumentError. A new input, an edit, or a run that
    /// names a checkpoint_id revives it. Returns false if nothing was due, or if the run under way ended by itself.
    ///
    /// If a run of this process is under way on the thread, the cancel is stored with the checkpoint whose tasks run,
    /// before the run ends, so that it outlives the process (not with durability `exit`). A run of another process
    /// fails with ConcurrentUpdateError at its next commit. A node that cancels its own thread must set `ends_run =
    /// false`, because it cannot wait for its own run. Errors: MissingCheckpointerError, ThreadBusyError,
    /// ConcurrentUpdateError.
    bool cancelThread(const ThreadId& thread_id, const CancelOptions& options = {}) const {
        return detail::cancelThread(*core(), thread_id, options);
    }

    /// Resumes every thread of the saver that is in flight (stategraph/unfinished.hpp), as RESUME does: the threads
    /// that dead processes left. Threads with a run of this process under way are skipped, and with savers that hold
    /// threads those that another process runs. With other savers processes that recover the same thread do the same
    /// work; one finishes it, and the others get ConcurrentUpdateError. The report contains the errors of the runs; the
    /// call itself throws only if the saver's list cannot be read.
    RecoverReport recover(const RecoverOptions& options = {}) const { return detail::recover(*core(), options); }

    /// Removes the cached results of these nodes ("*": of all that are cached), or of all nodes, including those in
    /// subgraphs; results of tasks under way may still be added. Errors: InvalidArgumentError for a graph that was
    /// compiled without a cache, or a node that is not cached; what the cache throws.
    void clearCache() const { detail::clearCache(*core(), nullptr); }
    void clearCache(const NodeNames& nodes) const { detail::clearCache(*core(), &nodes); }

    /// Drawings of the graph.
    std::string toMermaid() const { return detail::toMermaid(*core()); }
    std::string toDot() const { return detail::toDot(*core()); }

    /// Statistics of CompileOptions::warm_threads so far. Safe from any thread.
    WarmThreadStats warmThreadStats() const { return detail::warmThreadStats(*core()); }

    /// The implementation, for the library itself. Errors: InvalidArgumentError if the graph was moved from.
    const std::shared_ptr<const detail::Core>& core() const {
        if (core_ == nullptr) detail::refuseMovedGraph();
        return core_;
    }

private:
    template <class In>
    Result<Output> invokeWith(In&& input, const RunConfig& config) const {
        Result<Output> result;
        detail::StateBox<S> box;
        detail::invoke(*core(), std::move(input), config, result, box.object());
        result.values = detail::project<Output>(std::move(box.state));
        return result;
    }

    std::shared_ptr<const detail::Core> core_;
};

template <class S, class Input, class Output>
Output Runtime::invoke(const CompiledGraph<S, Input, Output>& graph, std::type_identity_t<Update<Input>> input,
                       std::string_view key) {
    detail::StateBox<S> box;
    detail::callGraph(*this, graph.core(), detail::widen<S>(std::move(input)), key, box.object());
    return detail::project<Output>(std::move(box.state));
}

}  // namespace stategraph
