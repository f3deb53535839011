#pragma once
#include <cstdint>

// The tables of a SQLite file, all in `main`:
//
//   commits   one row per commit: its thread, its namespace, its id, its record
//   writes    one row per pending write: thread, namespace and id of its checkpoint, its path, its record
//   threads   one row per thread that has a commit of its own: what it waits for (Status as a number), when it
//             was last written to (ThreadPlace::since), of a sleeping one when it is to wake, in ms since 1970, and the
//             summary that its writer gave (PutRequest::summary)
//   graphs    the description of a graph (stategraph/graph_description.hpp) as CBOR, by its fingerprints graph and
//             schema: 8 bytes each, big endian
//
// A file that was opened for a store also has the tables of that part, and lists it in `parts`:
//
//   parts         one row per part: its name, the version of its tables
//   store         one row per row of storage/store/keys.hpp
//
//   PRAGMA application_id   "SGRF" as a number, big endian: the file is one of stategraph's
//   PRAGMA user_version     the version of these tables
//
// Names, ids and paths are BLOBs, because they may hold any byte, and SQLite orders those by their bytes. An id's 16
// bytes are big endian, so a log's rows are neighbours in the order of their ids. A thread's logs are neighbours too,
// the root's first. Only pending writes, graphs, and the rows that a prune writes whole are updated.
namespace stategraph::checkpoint {

inline constexpr std::int64_t sqlite_application_id = 0x53475246;
inline constexpr std::int64_t sqlite_format = 1;

inline constexpr const char* sqlite_tables =
    "CREATE TABLE commits (thread BLOB NOT NULL, ns BLOB NOT NULL, id BLOB NOT NULL, bytes BLOB NOT NULL, "
    "PRIMARY KEY (thread, ns, id)) WITHOUT ROWID;\n"
    "CREATE TABLE writes (thread BLOB NOT NULL, ns BLOB NOT NULL, id BLOB NOT NULL, path BLOB NOT NULL, "
    "bytes BLOB NOT NULL, PRIMARY KEY (thread, ns, id, path)) WITHOUT ROWID;\n"
    "CREATE TABLE threads (thread BLOB NOT NULL PRIMARY KEY, status INTEGER NOT NULL, since BLOB NOT NULL, "
    "due INTEGER, summary BLOB) WITHOUT ROWID;\n"
    "CREATE INDEX open_threads ON threads (status, thread) WHERE status<>1;\n"
    "CREATE INDEX newest_threads ON threads (status, since, thread);\n"
    "CREATE INDEX due_threads ON threads (due, thread) WHERE due IS NOT NULL;\n"
    "CREATE TABLE graphs (fingerprint BLOB NOT NULL PRIMARY KEY, bytes BLOB NOT NULL) WITHOUT ROWID;\n";

inline constexpr const char* sqlite_parts =
    "CREATE TABLE IF NOT EXISTS parts (name TEXT NOT NULL PRIMARY KEY, format INTEGER NOT NULL) WITHOUT ROWID;\n";

inline constexpr std::int64_t sqlite_store_format = 1;
inline constexpr const char* sqlite_store_tables =
    "CREATE TABLE store (key BLOB NOT NULL PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;\n";

}  // namespace stategraph::checkpoint
