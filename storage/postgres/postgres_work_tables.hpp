#pragma once

// The tables of the queue, in the schema of the saver's tables (postgres_tables.hpp).
//
//   work     one row per thread that has work or waits: its queue and graph; its state (WorkState as a number); when a
//            worker is to look at it: now, at a wake time, after a back-off, or at the end of a worker's lease (null
//            means never); the epoch of the lease, 0 without one, and the worker that has it; how many claims made no
//            progress, and the thread's newest commit at the last one; how many inputs wait; which version of the graph
//            began last, and which versions refused it
//            A thread whose process died while it had it may have killed it: `together` says how many threads the
//            process had then, `apart` how many there may be with it from then on (0: any number), and `is_begun`
//            whether a thread with such a limit was run
//            `metadata` is what people select threads by
//   limits   one row per queue with a limit over all workers: how many of its threads may be leased at once, and how
//            many may be claimed a second, with the tokens that were left when somebody last claimed. A claim locks the
//            row before it looks for threads, so that claims of such a queue follow each other
//   workers  one row per worker: what it serves, and until when it counts as alive
//   inputs   one row per waiting input, and one per key of an input that was taken
//   epochs   a sequence: each claim gets a number that no claim had before
//   uptime   at most one row, with a number for the time since the server's last crash: a crash empties an unlogged
//            table, and the next claim writes another number
//
// A statement that locks a row of `work` and others of the thread, in `logs` or `inputs`, locks that of `work` first. A
// claim locks it FOR UPDATE, so that it skips threads whose put is under way, and a put that waited for a claim sees
// the new epoch.
namespace stategraph::checkpoint {

inline constexpr const char* postgres_work_tables = R"(
CREATE SEQUENCE {S}.epochs;
CREATE UNLOGGED TABLE {S}.uptime (is_one boolean PRIMARY KEY DEFAULT true CHECK (is_one), number bigint NOT NULL);
CREATE TABLE {S}.work (
    thread bytea PRIMARY KEY, queue text COLLATE "C" NOT NULL, graph text NOT NULL, state smallint NOT NULL DEFAULT 0,
    due timestamptz, epoch bigint NOT NULL DEFAULT 0, worker text, attempts int NOT NULL DEFAULT 0,
    inputs int NOT NULL DEFAULT 0, head uuid, version uuid, refused uuid[] NOT NULL DEFAULT '{}',
    is_woken boolean NOT NULL DEFAULT false, is_cancelled boolean NOT NULL DEFAULT false,
    is_aside boolean NOT NULL DEFAULT false, error text, since timestamptz NOT NULL DEFAULT now(),
    together int NOT NULL DEFAULT 0, apart int NOT NULL DEFAULT 0, is_begun boolean NOT NULL DEFAULT false,
    metadata jsonb)
    WITH (fillfactor = 70);
CREATE INDEX due_work ON {S}.work (queue, due) WHERE due IS NOT NULL;
CREATE INDEX leased_work ON {S}.work (queue, due) WHERE epoch <> 0;
CREATE INDEX aside_work ON {S}.work (thread) WHERE is_aside;
CREATE TABLE {S}.inputs (
    thread bytea NOT NULL, seq bigint GENERATED ALWAYS AS IDENTITY, key bytea, input bytea, taken timestamptz,
    PRIMARY KEY (thread, seq));
CREATE UNIQUE INDEX input_keys ON {S}.inputs (thread, key) WHERE key IS NOT NULL;
CREATE INDEX taken_inputs ON {S}.inputs (taken) WHERE taken IS NOT NULL;
CREATE TABLE {S}.limits (
    queue text COLLATE "C" PRIMARY KEY, runs bigint, rate double precision, tokens double precision NOT NULL DEFAULT 0,
    refilled timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE UNLOGGED TABLE {S}.workers (
    number bigint PRIMARY KEY, name text NOT NULL, queues text[] NOT NULL, graphs text[] NOT NULL,
    versions uuid[] NOT NULL, slots bigint NOT NULL, since timestamptz NOT NULL DEFAULT now(),
    until timestamptz NOT NULL);
)";

/// Returns `put` for a lease, and for puts that wake the thread's worker.
const char* postgresWorkPutFunction();
/// Returns the function that stores inputs.
const char* postgresSubmitFunction();
/// Returns the function that says how many threads of a queue with a limit may be claimed.
const char* postgresRoomFunction();

}  // namespace stategraph::checkpoint
