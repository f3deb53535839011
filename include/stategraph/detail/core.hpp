#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/detail/graph_builder.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/snapshot.hpp>
#include <stategraph/stream.hpp>

// The erased twin of CompiledGraph<S>: what the facade calls.
namespace stategraph::detail {

/// What a run is asked to do.
struct RunInput {
    enum class Kind : std::uint8_t { update, resume, command } kind = Kind::update;
    Writes writes;
    std::optional<Value> answer;
    std::vector<Answer> answers;
    std::vector<Target> go_to;
    bool to_parent = false;
};

struct RunOutcome {
    Status status = Status::done;
    std::vector<Interrupt> interrupts;
    /// The newest checkpoint; none without a saver.
    Config config;
};

/// Runs to the end or a pause. `values`, a new object of the state's type, gets the values; null: nobody wants them. After an error it
/// holds anything.
RunOutcome run(const Core& core, RunInput input, const RunConfig& config, void* values, ChannelSet* present = nullptr);

/// The same, giving events to `sink`.
RunOutcome run(const Core& core, RunInput input, const RunConfig& config, const StreamOptions& options, EventSink& sink,
               void* values, ChannelSet* present = nullptr);

/// A run that advances when its next event is asked for.
class StreamRun {
public:
    StreamRun(std::shared_ptr<const Core> core, RunInput input, const RunConfig& config, const StreamOptions& options);
    ~StreamRun();
    /// None when the run is over. Throws what the run fails with, after the events before it.
    std::optional<StreamEvent> next();
    /// After the end.
    const RunOutcome& outcome() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The state at a checkpoint; without `checkpoint_id` the newest, with what finished tasks of an unfinished superstep wrote.
/// `values` is an object of the type `type`; it is filled if that is the state's type of the graph that `config` names.
struct ValuesOut {
    TypeKey type = nullptr;
    void* object = nullptr;
    ChannelSet* present = nullptr;
};
SnapshotData readState(const Core& core, const Config& config, bool subgraphs, const ValuesOut& values);

/// A thread's checkpoints, newest first, read as they are asked for.
class HistoryReader {
public:
    HistoryReader(std::shared_ptr<const Core> core, const Config& config, const HistoryOptions& options);
    ~HistoryReader();
    /// False when there are no more.
    bool next(SnapshotData& snapshot, const ValuesOut& values);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// One edit: a node's writes without its running.
struct StateEdit {
    Writes writes;
    std::optional<std::string> as_node;
    std::vector<Target> go_to;
};
struct EditOptions {
    Durability durability = Durability::async;
    OnBusy on_busy = OnBusy::reject;
    int busy_timeout_ms = 60'000;
};
/// Each superstep of edits makes one checkpoint; returns the last.
Config editState(const Core& core, const Config& config, std::vector<std::vector<StateEdit>> supersteps, const EditOptions& options);

const GraphSpec& specOf(const Core& core);

}  // namespace stategraph::detail
