#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/fold.hpp"
#include "src/superstep/apply.hpp"
#include "src/superstep/schedule.hpp"

// From the log back to a state and a schedule.
namespace stategraph::engine {

/// Fills `state` from a checkpoint. Stored channels that the schema does not have are left alone.
/// Errors: CorruptCheckpointError naming the channel whose stored value is not of its type.
void restoreState(const checkpoint::Folded& from, State& state);

/// What to do about nodes that are due and that the graph does not have (any more).
enum class GoneNodes : std::uint8_t { refuse, skip };

/// Fills `schedule` from a checkpoint.
/// Errors: InvalidArgumentError naming a node that is due and gone.
void restoreSchedule(const Topology& topology, const detail::Schema& schema, const checkpoint::Folded& from, Schedule& schedule,
                     GoneNodes gone = GoneNodes::refuse);

/// Reads a CBOR list of writes into operations; those on channels that are unknown are an
/// InvalidUpdateError, those of another type than their channel's a CorruptCheckpointError.
void readWritesInto(const detail::Schema& schema, std::string_view cbor, detail::Writes& writes);

/// The version of a trigger that the commit of a step set.
constexpr std::uint64_t versionOfStep(std::int64_t step) { return 2 * static_cast<std::uint64_t>(step + 2); }

}  // namespace stategraph::engine
