#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/detail/builder.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/owned.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/run_outcome.hpp>
#include <stategraph/snapshot.hpp>
#include <stategraph/stream.hpp>
#include <stategraph/warm_threads.hpp>

// The functions that CompiledGraph<S> calls, without users' types.
namespace stategraph {

struct UpdateOptions;
struct CancelOptions;

}  // namespace stategraph

namespace stategraph::detail {

/// The input of a run.
struct RunInput {
    enum class Kind : std::uint8_t { update, resume, command } kind = Kind::update;
    Writes writes;
    std::optional<Value> answer;
    std::vector<Answer> answers;
    bool has_answers = false;  // true also for a list of answers that has none
    std::vector<Target> go_to;
    bool to_parent = false;
};

/// Throws the error of a CompiledGraph that was moved from.
[[noreturn]] void refuseMovedGraph();

/// Runs to the end or a pause. `values`, a new object of the state's type, receives the values; null: the caller does
/// not need them. After an error its content is unspecified.
RunOutcome run(const Core& core, RunInput input, const RunConfig& config, void* values, ChannelSet* present = nullptr);

/// The same; the outcome is written to a place of the caller.
void invoke(const Core& core, Writes&& input, const RunConfig& config, RunOutcome& outcome, void* values);
void invoke(const Core& core, RunInput&& input, const RunConfig& config, RunOutcome& outcome, void* values);

/// Stores what a run with this input stores before its first superstep, and runs nothing.
Config submit(const Core& core, RunInput&& input, const RunConfig& config);

/// Called when a node calls a graph (Runtime::invoke). `values`, a new object of the graph's state type, receives what
/// that graph returns.
void callGraph(Runtime& runtime, const std::shared_ptr<const Core>& core, Writes&& input, std::string_view key,
               void* values);

/// The same as `run`, with events for `sink`.
RunOutcome run(const Core& core, RunInput input, const RunConfig& config, const StreamOptions& options, EventSink& sink,
               void* values, ChannelSet* present = nullptr);

/// A run that advances when its next event is requested.
class StreamRun {
public:
    StreamRun(std::shared_ptr<const Core> core, RunInput input, const RunConfig& config, const StreamOptions& options);
    ~StreamRun();
    /// Advances to the next event. Throws the error of the run, after the events before it.
    void advance();
    /// Null when the run is over.
    const StreamEvent* event() const noexcept;
    /// How the run ended. `values`, a new object of the state's type, gets the values. Errors: InvalidArgumentError
    /// before the end, or if they were taken before.
    RunOutcome takeOutcome(void* values);

private:
    struct Impl;
    Owned<Impl> impl_;
};

/// The state at a checkpoint; without `checkpoint_id` the newest, with what finished tasks of an unfinished superstep
/// wrote.
/// `values` is an object of the type `type`; it is filled if that is the state's type of the graph that `config` names.
struct ValuesOut {
    TypeKey type = nullptr;
    void* object = nullptr;
    ChannelSet* present = nullptr;
    /// The schema of the type; null if it has none. It serves for logs of graphs that nodes call, which the graph does
    /// not know.
    const Schema* schema = nullptr;
};
SnapshotData readState(const Core& core, const Config& config, bool subgraphs, const ValuesOut& values);

/// A thread's checkpoints, newest first, read when they are requested.
class HistoryReader {
public:
    HistoryReader(std::shared_ptr<const Core> core, const Config& config, const HistoryOptions& options);
    ~HistoryReader();
    /// Returns false when there are no more. The arguments are new objects. If the reader takes them back, they hold
    /// the values from two calls before, from which the new values are made.
    bool next(SnapshotData& snapshot, const ValuesOut& values);
    bool takesBack() const noexcept;

private:
    struct Impl;
    Owned<Impl> impl_;
};

/// Writes in the name of nodes, without running them, superstep by superstep.
class Edits {
public:
    explicit Edits(TypeKey state);
    Edits(const Edits&) = delete;
    Edits& operator=(const Edits&) = delete;
    ~Edits();
    void beginSuperstep();
    void add(const Writes& writes, const std::optional<std::string>& as_node, const Targets& go_to);

    struct Data;
    Data& data() noexcept { return *data_; }

private:
    Owned<Data> data_;
};
/// Each superstep of edits makes one checkpoint; returns the last.
Config editState(const Core& core, const Config& config, Edits& edits, const UpdateOptions& options);

/// Cancels a thread for good. Returns false if nothing was due.
bool cancelThread(const Core& core, const ThreadId& thread_id, const CancelOptions& options);

/// Removes the cached results of nodes; null: of all nodes, including those in subgraphs. Errors: InvalidArgumentError.
void clearCache(const Core& core, const NodeNames* nodes);

const GraphSpec& specOf(const Core& core);
WarmThreadStats warmThreadStats(const Core& core);
std::string toMermaid(const Core& core);
std::string toDot(const Core& core);

}  // namespace stategraph::detail
