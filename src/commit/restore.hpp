#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/fold.hpp"
#include "checkpoint/task_fields.hpp"
#include "src/superstep/apply.hpp"
#include "src/superstep/schedule.hpp"

// Restores a state and a schedule from the log.
namespace stategraph::engine {

/// Fills `state` from a checkpoint. Stored channels that the schema does not have are ignored. Errors:
/// CorruptCheckpointError naming the channel whose stored value is not of its type.
void restoreState(const checkpoint::Folded& from, State& state);
/// The same from a checkpoint's channels alone, which are by name.
void restoreState(std::span<const checkpoint::ChannelPieces> channels, CheckpointId id, State& state);
/// One channel of it, whose value is as before any write, or as other operations left it if the first is no set.
void loadChannel(const detail::ChannelSpec& channel, std::span<const checkpoint::LogPiece> pieces, CheckpointId id,
                 State& state);

/// The channel that a stored one of these is read into; null if there is none.
const detail::ChannelSpec* findStored(std::span<const checkpoint::ChannelPieces> channels, std::string_view name,
                                      const detail::Schema& schema);
/// Calls `take(channel, stored)` for each that is read. Several may be of one channel, by former names.
template <class Take>
void forEachStored(std::span<const checkpoint::ChannelPieces> channels, const detail::Schema& schema, Take take) {
    for (const checkpoint::ChannelPieces& stored : channels) {
        if (const detail::ChannelSpec* channel = findStored(channels, stored.name, schema)) take(*channel, stored);
    }
}

/// Folds the update of a Command, which became part of the superstep that waits, into the state; consumes `writes`.
void applyCommand(detail::Writes& writes, State& state);

/// Whether a subgraph's checkpoint was made by the visit that the graph around it made from this checkpoint of its own.
bool isOfVisit(const checkpoint::CommitFields& inner, std::string_view outer_ns, CheckpointId outer);

/// What to do with due nodes that the graph does not have.
enum class GoneNodes : std::uint8_t { refuse, skip };

/// Fills `schedule` from a checkpoint. Tasks that were due then are due, even if the edges that led to them no longer
/// exist. Arrivals at a join whose sources have changed move to the new join. Errors: InvalidArgumentError naming a due
/// node that no longer exists, or that now takes only payloads; none with `skip`, because everything that is due is
/// about to be dropped. Returns whether the schedule differs from the log's, so that the next commit must hold all of
/// it.
bool restoreSchedule(const Topology& topology, const detail::Schema& schema, const checkpoint::Folded& from,
                     Schedule& schedule, GoneNodes gone = GoneNodes::refuse);

/// Reads what a task's record (or a Command's) says that it wrote and where it leads.
/// Errors: those of `readWritesInto`; InvalidArgumentError naming a node that it leads to and that is gone, unless
/// those are skipped.
void restoreResult(const Topology& topology, const detail::Schema& schema, const checkpoint::TaskFields& record,
                   detail::Writes& writes, Routes& routes, GoneNodes gone = GoneNodes::refuse);

/// A Send's stored payload as what its node takes now. Errors: InvalidUpdateError, WrongTypeError, naming the node.
detail::AnyValue restorePayload(const Node& node, std::string_view stored);

/// Reads a CBOR list of writes into operations; those on channels that are unknown are an
/// InvalidUpdateError, those of another type than their channel's a CorruptCheckpointError.
void readWritesInto(const detail::Schema& schema, std::string_view cbor, detail::Writes& writes);

/// The version of a trigger that the commit of a step set.
constexpr std::uint64_t versionOfStep(std::int64_t step) { return 2 * static_cast<std::uint64_t>(step + 2); }

}  // namespace stategraph::engine
