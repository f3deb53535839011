#pragma once
#include <string>
#include <vector>

#include <libpq-fe.h>

// The statement that stores the commits of many logs, some of each.
namespace stategraph::checkpoint {

/// Its SQL. Parameters are arrays with an element for each put: thread, namespace, expected head, its last commit's id,
/// its first commit's parent, base and bytes; synchronous_commit, which is one text; status and wake time of
/// PutRequest::outlook (null: none) and placeKeptFrom(last id), which are read for a thread's own log alone; the
/// lease's epoch (null: none is asked for); the number of the input that is taken (null: none); the summary (null:
/// none); and the first commit's id. Then arrays with an element for each further commit: the place from 1 of its put,
/// the id of the commit before it, its id, parent, base and bytes. Last, an array with the epoch of each put's hold
/// (null: none is asked for). No log occurs in two puts.
///
/// Rows: the places from 1 of the puts that are stored. Each of them was compared with its own log's head, and its
/// lease was checked; those that are not returned have stored nothing, for a reason that the statement does
/// not say. It waits for no other writer's lock on a row, and a put that meets one is not stored; but it waits for a
/// writer that begins the same log, or appends to the same subgraph's log.
std::string postgresJoinedSql();
/// The types of its parameters.
std::vector<Oid> postgresJoinedTypes();

}  // namespace stategraph::checkpoint
