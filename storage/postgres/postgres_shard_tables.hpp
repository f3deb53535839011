#pragma once
#include <cstdint>

#include "storage/postgres/postgres_parts.hpp"

// The tables of a schema that has some slots of threads (stategraph/sharded_saver.hpp), and other schemas the others:
// each is a cluster. {S} is the schema.
//
//   cluster   one row: the cluster's name
//   slots     one row a slot: what it is here (a SlotState as a number), the version of what is known of it, which
//             cluster owns it, and where it moves to or comes from; when a move that says nothing any more is over
//   touched   one row a write to a thread of a slot that is being copied: its slot, its thread, and whether it was more
//             than an append
//
// `slot_of` is slotOf. `hold_slot` begins every transaction that writes to a thread, unless its slot is simply owned,
// and keeps the slot here until the transaction has ended. `refuse_slot` raises SG010, with the slot's state and owner.
//
// A version ascends when a move begins, and when it is decided. Whatever a move does names the version with which it
// began, so that one that was frozen does nothing once another has begun. The first cluster's row decides: there the
// slot goes from `leaving` to `away`, and with that it is the other one's, whose rows are complete by then.
namespace stategraph::checkpoint {

enum class SlotState : std::int64_t {
    away = 0,      // another cluster has it
    owned = 1,     // it is here
    copying = 2,   // it is here, and is being copied to another cluster
    leaving = 3,   // it can be read here; writers wait
    arriving = 4,  // another cluster has it, and it is being copied to here
};

extern const PostgresPart postgres_shard_part;

/// A condition for a statement over many threads: that the thread's slot can be read here, or also written. Empty if
/// the schema has all threads.
std::string threadIsHere(bool has_slots, std::string_view thread, bool to_write = false);

}  // namespace stategraph::checkpoint
