#pragma once
#include <string>
#include <vector>

#include "checkpoint/paths.hpp"
#include "checkpoint/record.hpp"
#include "src/superstep/encoded_items.hpp"
#include "src/superstep/schedule.hpp"

// A task's writes and routes as its record holds them.
namespace stategraph::engine {

using checkpoint::command_path;

/// A task's place in its superstep, and the key of its record.
std::string pathOf(const Topology& topology, const PlannedTask& task);

/// Completes writes by what depends on their task alone: a message without an id gets one that it has again when the
/// task is repeated.
void prepareWrites(const detail::Schema& schema, detail::Writes& writes, const TaskId& task);

/// What `__start__` takes is completed before it is stored, as its task would do it, so that the commit that takes it
/// need not say it again. `checkpoint_id` and `step` are those of the commit that holds the input.
void prepareInput(const detail::Core& core, Schedule& schedule, const LogName& log, CheckpointId checkpoint_id,
                  std::int64_t step);

/// A CBOR list of writes; those to untracked channels are left out. `before` are `count_before` encoded items to put
/// first.
std::string encodeWriteList(const detail::Schema& schema, detail::Writes& writes, const std::string* before = nullptr,
                            std::size_t count_before = 0);

/// The payload of a Send that is to be stored. Throws InvalidUpdateError, naming the node, if it is nested too deep.
void encodePayload(const Topology& topology, const PendingSend& send, Encoder& out);

/// Adds routes to a record's fields. The payloads returned must outlive them. Errors: as `encodePayload`.
std::vector<std::string> addRoutes(const Topology& topology, const Routes& routes, checkpoint::TaskFields& fields);

/// The writes of the one task that led to a commit, as the commit holds them: those that its operations say are only
/// named. Empty: its operations say them all. `items`, of the buffer `list`: which of the writes it holds whole.
void encodeCommitWrites(const detail::Schema& schema, detail::Writes& writes, bool is_snapshot, std::string& list,
                        detail::EncodedItems& items);

}  // namespace stategraph::engine
