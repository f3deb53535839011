#pragma once
#include <string>
#include <vector>

#include <libpq-fe.h>

// The statement that stores the commits of many logs.
namespace stategraph::checkpoint {

/// Its SQL. Parameters are arrays with an element for each commit: thread, namespace, expected head, id, parent, base,
/// bytes; synchronous_commit, which is one text; status and wake time of PutRequest::outlook (null: none) and
/// placeKeptFrom(id), which are read for a thread's own log alone; the lease's epoch (null: none is asked for); the
/// number of the input that is taken (null: none); the summary (null: none); and, where the schema has only some slots
/// of threads, the thread's slot. No log occurs twice.
///
/// Rows: the places from 1 of the commits that are stored. Each of them was compared with its own log's head, and its
/// lease and slot were checked; those that are not returned have stored nothing, for a reason that the statement does
/// not say. It waits for no other writer's lock on a row, and a commit that meets one is not stored; but it waits for a
/// writer that begins the same log, or appends to the same subgraph's log.
std::string postgresJoinedSql(bool has_slots);
/// The types of its parameters.
std::vector<Oid> postgresJoinedTypes(bool has_slots);

}  // namespace stategraph::checkpoint
