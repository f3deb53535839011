#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/checkpoint/fold.hpp"
#include "src/checkpoint/task_fields.hpp"
#include "src/superstep/apply.hpp"
#include "src/superstep/schedule.hpp"

// Restores a state and a schedule from the log.
namespace stategraph::engine {

/// Fills `state` from a checkpoint. Stored channels that the schema does not have are ignored. Errors:
/// CorruptCheckpointError naming the channel whose stored value is not of its type.
void restoreState(const checkpoint::Folded& from, State& state);
/// Does the same from a checkpoint's channels alone, which are sorted by name.
void restoreState(std::span<const checkpoint::ChannelPieces> channels, CheckpointId id, State& state);
/// Restores one channel. Before the call its value is as before any write, or any value if the first operation is a
/// set.
void loadChannel(const detail::ChannelSpec& channel, std::span<const checkpoint::LogPiece> pieces, CheckpointId id,
                 State& state);

/// Returns the channel into which the stored channel with this name is read, or null if there is none.
const detail::ChannelSpec* findStored(std::span<const checkpoint::ChannelPieces> channels, std::string_view name,
                                      const detail::Schema& schema);
/// Calls `take(channel, stored)` for each channel that is read. Several may belong to one channel, by its former names.
template <class Take>
void forEachStored(std::span<const checkpoint::ChannelPieces> channels, const detail::Schema& schema, Take take) {
    for (const checkpoint::ChannelPieces& stored : channels) {
        if (const detail::ChannelSpec* channel = findStored(channels, stored.name, schema)) take(*channel, stored);
    }
}

/// Folds into the state the update of a Command that became part of the pending superstep. Consumes `writes`.
void applyCommand(detail::Writes& writes, State& state);

/// Returns whether the visit that the outer graph began at this checkpoint of its own created a subgraph's checkpoint.
bool isOfVisit(const checkpoint::CommitFields& inner, std::string_view outer_ns, CheckpointId outer);

/// What to do with due nodes that the graph does not have.
enum class GoneNodes : std::uint8_t { refuse, skip };

/// Fills `schedule` from a checkpoint. Tasks that were due then are due, even if the edges that led to them no longer
/// exist. Arrivals at a join whose sources have changed move to the new join. Returns whether the schedule differs from
/// the log's, so that the next commit must hold all of it. Errors: InvalidArgumentError naming a due node that no
/// longer exists, or that now takes only payloads. With `skip` there are no such errors, because everything that is due
/// is about to be dropped.
bool restoreSchedule(const Topology& topology, const detail::Schema& schema, const checkpoint::Folded& from,
                     Schedule& schedule, GoneNodes gone = GoneNodes::refuse);

/// Reads from a task's record (or a Command's) what it wrote and where it leads. Errors: those of `readWritesInto`;
/// InvalidArgumentError naming a node that it leads to and that no longer exists, unless such nodes are skipped.
void restoreResult(const Topology& topology, const detail::Schema& schema, const checkpoint::TaskFields& record,
                   detail::Writes& writes, Routes& routes, GoneNodes gone = GoneNodes::refuse);

/// Decodes a Send's stored payload into what its node takes now. Errors: InvalidUpdateError and WrongTypeError, naming
/// the node.
detail::AnyValue restorePayload(const Node& node, std::string_view stored);

/// Decodes a CBOR list of writes into operations. Errors: InvalidUpdateError for a write to an unknown channel,
/// CorruptCheckpointError for one of another type than its channel's.
void readWritesInto(const detail::Schema& schema, std::string_view cbor, detail::Writes& writes);

/// Returns the version of a trigger that the commit of a step set.
constexpr std::uint64_t versionOfStep(std::int64_t step) { return 2 * static_cast<std::uint64_t>(step + 2); }

}  // namespace stategraph::engine
