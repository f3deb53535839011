#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "src/checkpoint/paths.hpp"
#include "src/checkpoint/record.hpp"
#include "src/superstep/encoded_items.hpp"
#include "src/superstep/schedule.hpp"

// Encodes a task's writes and routes in the form that its record has.
namespace stategraph::engine {

using checkpoint::command_path;

/// Returns a task's place in its superstep, which is the key of its record.
std::string pathOf(const Topology& topology, const PlannedTask& task);

/// Completes writes by values that depend on their task alone: a message without an id gets one, and gets the same one
/// when the task is repeated.
void prepareWrites(const detail::Schema& schema, detail::Writes& writes, const TaskId& task);

/// Completes the input that `__start__` takes before it is stored, as its task would do it, so that the commit that
/// takes it need not contain it again. `checkpoint_id` and `step` are those of the commit that holds the input.
void prepareInput(const detail::Core& core, Schedule& schedule, const LogName& log, CheckpointId checkpoint_id,
                  std::int64_t step);

/// Returns a CBOR list of writes, without those to untracked channels. `before` contains `count_before` encoded items,
/// which come first.
std::string encodeWriteList(const detail::Schema& schema, detail::Writes& writes, const std::string* before = nullptr,
                            std::size_t count_before = 0);

/// Encodes the payload of a Send that is to be stored. Throws InvalidUpdateError, naming the node, if it is nested too
/// deep.
void encodePayload(const Topology& topology, const PendingSend& send, Encoder& out);

/// Adds routes to a record's fields, and returns the payloads, which must outlive the fields. Errors: as
/// `encodePayload`.
std::vector<std::string> addRoutes(const Topology& topology, const Routes& routes, checkpoint::TaskFields& fields);

/// Encodes the writes of the single task that led to a commit, in the form that the commit has. Writes whose values are
/// in the commit's operations are only named; the list is empty if that is true of all of them. `items` receives which
/// writes the buffer `list` holds whole, and `sizes` the sizes of the list's parts, or nothing if they are not known.
void encodeCommitWrites(const detail::Schema& schema, detail::Writes& writes, bool is_snapshot, std::string& list,
                        detail::EncodedItems& items, std::vector<std::uint32_t>& sizes);

}  // namespace stategraph::engine
