#pragma once

// The table of threads that are run outside the queue (BaseCheckpointSaver::tryHold), in the schema of the saver's
// tables (postgres_tables.hpp).
//
//   holds    one row per held thread: the epoch of the hold, from the sequence of the queue's leases, and its holder
//   starts   at most one row: when the server was started last, and when a holder or a worker first saw it after that
//
// A holder is a saver object. It is alive as long as the server has a session that has locked the holder's number, so a
// killed process gives everything back at once, and nothing is renewed or timed. A thread is held by a row here or
// leased by a row of `work`, never both: who holds locks the thread's name, a claim tries to lock it, and both look
// after that. A row of `holds` is locked before one of `work`. The row is deleted to be taken over, which waits for a
// put that has locked it.
namespace stategraph::checkpoint {

inline constexpr const char* postgres_holds_table = R"(
CREATE TABLE {S}.holds (thread bytea PRIMARY KEY, epoch bigint NOT NULL, holder bigint NOT NULL);
CREATE TABLE {S}.starts (
    is_one boolean PRIMARY KEY DEFAULT true CHECK (is_one), started timestamptz NOT NULL, seen timestamptz NOT NULL);
)";

/// Notes that a holder or a worker has seen the server since its last start. If no thread was held then, nobody has to
/// come back. Epochs continue far above the newest one: a standby that takes a server's place may not have the last
/// ones that the server gave to holds, and must give none of them once more.
inline constexpr const char* postgres_note_start =
    "INSERT INTO {S}.starts AS s (started, seen) VALUES (pg_postmaster_start_time(), "
    "CASE WHEN EXISTS (SELECT FROM {S}.holds) THEN clock_timestamp() ELSE '-infinity' END) "
    "ON CONFLICT (is_one) DO UPDATE SET started = excluded.started, seen = excluded.seen "
    "WHERE s.started <> excluded.started RETURNING setval('{S}.epochs', nextval('{S}.epochs') + 1000000)";

/// Returns the functions is_holder_gone, hold_thread and unheld.
const char* postgresHoldFunctions();

}  // namespace stategraph::checkpoint
