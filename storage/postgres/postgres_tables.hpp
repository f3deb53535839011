#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <stategraph/ids.hpp>

// The tables of a PostgreSQL schema. In their SQL and in all statements {S} is replaced by the schema's quoted name.
//
//   logs       one row per log: its number, thread and namespace. A thread's own log also has its place in the index of
//              threads: what it waits for (a Status as a number, 1 is done), when it was last written to
//              (ThreadPlace::since), of a sleeping one its wake time in milliseconds since 1970, and the summary
//              that its writer gave (PutRequest::summary)
//   commits    one row per commit: its log, the id of the commit before it in the log (zero if there is none), its id,
//              its parent and base as in CommitRow (zero if there is none), its record
//   writes     one row per pending write: its log, its checkpoint, its path, its record
//   dead_logs  the numbers of deleted logs, whose rows are removed later
//   graphs     the description of a graph (stategraph/graph_description.hpp) as CBOR, by its fingerprints graph and
//              schema as the halves of a uuid
//   format     one row: the version of these tables
//
// Those of the queue are in postgres_work_tables.hpp, and the table of threads that are run outside the queue in
// postgres_hold_tables.hpp.
//
// The rows of a log are a chain in the order of their ids. One unique index orders them, finds the newest, and refuses
// the second of two writers that know the same one. Names and paths are bytea, because they may hold any
// byte; PostgreSQL orders those by their bytes, and a uuid by its 16 bytes. Only pending writes, places in the index,
// graphs, and the rows that a prune rewrites or closes up are updated.
namespace stategraph::checkpoint {

inline constexpr std::int64_t postgres_format = 1;

/// The id of a row that a prune inserts after the newest commit of a log if it drops that commit, so that a run that is
/// about to append is refused.
inline constexpr const char* postgres_tombstone = "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid";
inline constexpr CheckpointId postgres_tombstone_id{UINT64_MAX, UINT64_MAX};

/// Rows that were added to a log at the moment of its deletion are removed when the deletion is this old, because no
/// statement takes longer.
inline constexpr const char* postgres_grace = "interval '2 hours'";

inline constexpr const char* postgres_tables = R"(
CREATE TABLE {S}.logs (
    log bigint GENERATED ALWAYS AS IDENTITY, thread bytea NOT NULL, ns bytea NOT NULL,
    status smallint NOT NULL DEFAULT 0, since uuid, due bigint, summary bytea, PRIMARY KEY (thread, ns));
CREATE INDEX open_threads ON {S}.logs (status, thread) WHERE since IS NOT NULL AND status <> 1;
CREATE INDEX newest_threads ON {S}.logs (status, since, thread) WHERE since IS NOT NULL;
CREATE INDEX due_threads ON {S}.logs (due, thread) WHERE due IS NOT NULL;
CREATE TABLE {S}.commits (
    log bigint NOT NULL, prev uuid NOT NULL, id uuid NOT NULL, parent uuid NOT NULL, base uuid NOT NULL,
    bytes bytea NOT NULL, PRIMARY KEY (log, prev));
CREATE TABLE {S}.writes (
    log bigint NOT NULL, id uuid NOT NULL, path bytea NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (log, id, path));
CREATE TABLE {S}.dead_logs (since timestamptz NOT NULL DEFAULT now(), log bigint NOT NULL, PRIMARY KEY (since, log));
CREATE TABLE {S}.graphs (fingerprint uuid PRIMARY KEY, bytes bytea NOT NULL);
)";

/// Quotes the schema's name for SQL.
std::string quotedName(std::string_view name);
/// Quotes a text for SQL.
std::string quotedText(std::string_view text);
/// Returns a table's name as a text for SQL, which casts to `regclass` and pg_get_serial_sequence read as a name: they
/// do not know the form with U& of quotedName. `quoted_schema` is what quotedName returned.
std::string quotedTableText(std::string_view quoted_schema, std::string_view table);
/// Replaces {S} in `text` by a name that is quoted already, and '{S}.TABLE' by what quotedTableText returns.
std::string inSchema(std::string_view text, const std::string& quoted_schema);

/// Returns the function that stores every request except a single commit after another one.
const char* postgresPutFunction();
/// Returns the function that refuses a commit that was just inserted, if the one before it is gone.
const char* postgresFollowsFunction();

}  // namespace stategraph::checkpoint
