#pragma once
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/state_schema.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/record.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

struct SnapshotData;

/// A graph that a task's node has begun to call (Runtime::invoke).
struct CallSnapshot {
    std::string key;
    /// The log of that graph, for getState<T> and getStateHistory<T>, where T is its state.
    Config state_config;
    /// That log's newest checkpoint: values as stored, tasks and questions.
    std::shared_ptr<const SnapshotData> state;
};

/// A task of a checkpoint: due, or already run.
struct TaskSnapshot {
    TaskId id;
    std::string name;
    /// "pull:NAME" for a triggered node, "push:INDEX" with ten digits for a Send. It is a part of the task's identity,
    /// so NAME is the one that the log has (NodeOptions::stored_as).
    std::string path;
    /// The payload of the Send that made it; null for a triggered node, which takes the state.
    Value input;
    /// The text of the last failed attempt's error; it stays when a later attempt succeeds.
    std::optional<std::string> error;
    /// The questions at which it last stopped, answered or not.
    std::vector<Interrupt> interrupts;
    /// The questions that wait for an answer.
    std::vector<Interrupt> open_interrupts;
    /// The writes of the task, {channel: written}; null if it has not finished or wrote nothing.
    Value result;
    bool finished = false;
    /// How long it took when it was executed last, waits between attempts included, and when it began. For the only
    /// task of a superstep, these are the values of the superstep. None: it was not executed, it has asked (and is
    /// executed again), the log does not contain it (CompileOptions::durations), or one commit covers several
    /// supersteps (exit durability).
    std::optional<std::chrono::microseconds> took = {};
    std::optional<std::chrono::system_clock::time_point> started_at = {};
    /// How often its node was called in that run; at least 1 if it was called. With exit durability the number is not
    /// known, and 1.
    std::uint64_t attempts = 1;
    /// The log of the subgraph that it runs, if it runs one.
    std::optional<Config> state_config;
    /// The newest checkpoint of that log, if it was requested.
    std::shared_ptr<const SnapshotData> state;
    /// The graphs that the node of an unfinished task called, by key, if the states of subgraphs were requested.
    std::vector<CallSnapshot> calls = {};
};

/// A checkpoint without the types of its values.
struct SnapshotData {
    Config config;
    std::optional<Config> parent_config;
    Source source = Source::loop;
    std::int64_t step = 0;
    Metadata metadata;
    /// When it was created; none if nothing is stored yet.
    std::optional<std::chrono::system_clock::time_point> created_at = {};
    /// How long the superstep took that created it, from the beginning of its tasks to this checkpoint; with exit
    /// durability all supersteps since the checkpoint before. None: no superstep made it, or the log does not contain
    /// it (CompileOptions::durations).
    std::optional<std::chrono::microseconds> took = {};
    /// How long the run took to store it: to encode it and to wait for the saver, which with async durability may store
    /// it later. The next commit of the same run contains it; none: there is no such commit here.
    std::optional<std::chrono::microseconds> commit_took = {};
    /// Names of the tasks that are due.
    std::vector<std::string> next;
    /// Whether the thread was cancelled here (CompiledGraph::cancelThread). In its newest state `next` and the open
    /// questions are empty then.
    bool cancelled = false;
    std::vector<TaskSnapshot> tasks;
    /// {channel: value} with only the channels that are set.
    Value values_as_cbor;

    /// Open questions of all tasks.
    std::vector<Interrupt> interrupts() const;
    /// The time of creation as ISO 8601, UTC; empty if nothing is stored yet.
    std::string createdAt() const;
};

/// The snapshot as one JSON object.
std::string toJson(const SnapshotData& snapshot);
std::ostream& operator<<(std::ostream& out, const SnapshotData& snapshot);

namespace detail {
std::string valuesAsJson(const Schema& schema, const void* state, const ChannelSet& present, const Value& as_cbor);
}  // namespace detail

/// The state of a thread at a checkpoint. `config.checkpoint_id` is empty if the thread has none.
template <class S>
struct StateSnapshot : SnapshotData {
    S values = {};

    /// Whether a channel has been written, for those without reducer.
    template <class T>
    bool isSet(T S::*member) const {
        return present.test(detail::channelIndex(member));
    }
    /// Whether a channel is set, for a state whose channels are named at run time.
    bool isSet(std::string_view channel) const
        requires requires(const S& s) { s.has(channel); }
    {
        return values.has(channel);
    }
    /// The values as JSON text without unset channels, in the order of the state's table unless the snapshot is of
    /// another type.
    std::string valuesAsJson() const {
        if constexpr (ChannelState<S>) {
            return detail::valuesAsJson(detail::schemaOf<S>(), &values, present, values_as_cbor);
        } else {
            return values_as_cbor.toJson();
        }
    }

    detail::ChannelSet present = {};
};

/// Options of getState.
struct GetStateOptions {
    /// Adds the state of subgraphs that are due (TaskSnapshot::state).
    bool subgraphs = false;
};

/// Which checkpoints a history contains.
struct HistoryOptions {
    /// Lists at most this many checkpoints; at least 1.
    std::optional<std::size_t> limit = {};
    /// Lists only checkpoints older than this one.
    CheckpointId before = {};
    /// Lists only checkpoints whose metadata has all of these entries; "source" and "step" count as metadata.
    Metadata filter = {};
    /// If off, `values` and `values_as_cbor` stay empty, and a history costs less. On: the first two checkpoints cost
    /// as much as `getState`, and each further one what changed between them: a channel that was appended to is
    /// shortened, one that changed otherwise is decoded. A checkpoint of another branch costs a `getState` again, and
    /// so do the next two where a commit that holds the whole state has been passed. A walk holds two states, and the
    /// records that the last one was read from, as many as `getState` reads at once.
    bool values = true;
};

}  // namespace stategraph
