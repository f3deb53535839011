#pragma once
#include <string>

#include <stategraph/saver.hpp>

#include "storage/postgres/postgres_connection.hpp"

// The statements of a saver.
namespace stategraph::checkpoint {

/// Appending one commit: without a right to the thread, under a worker's lease, under a run's hold.
struct PostgresAppends {
    PostgresStatement free;
    PostgresStatement leased;
    PostgresStatement held;
};

struct PostgresStatements {
    explicit PostgresStatements(const std::string& schema);

    // The parameters of these are log, expected head, id, parent, base, bytes, synchronous_commit. Statements
    // for a thread's own log also have the status and wake time of PutRequest::outlook, placeKeptFrom(id) and the
    // summary (null: none). Statements under a lease or a hold have the epoch after that. One row: it is stored.
    PostgresAppends append;        // to a thread's own log
    PostgresAppends append_inner;  // to a subgraph's log
    PostgresStatement joined;      // of many logs (postgres_joined_statement.hpp)
    PostgresStatement put;         // calls the function
    // Calls the function for threads of the queue and for held ones: also the epoch of a lease, an input's number and
    // the epoch of a hold, each or null, and whether it is to wake the thread.
    PostgresStatement put_work;
    PostgresStatement has_lease;   // thread, epoch → whether the epoch is the thread's
    PostgresStatement has_hold;    // likewise
    PostgresStatement head;        // log → its newest id, or no row
    PostgresStatement has_commit;  // log, id → whether it exists
    PostgresStatement has_writes;  // log, ids, paths, bytes → whether all exist with these bytes

    // The parameters are a log and, except for the newest, an id. Rows (kind, id, path, bytes, head): kind 0 is the
    // checkpoint, 1 a commit that leads to it, 2 the one that follows it, 3 a pending write.
    PostgresStatement newest_tuple;
    PostgresStatement tuple;
    PostgresStatement tuple_before;

    // Statuses, limit, whether with summaries, and after that a name or a place. Rows: status, since, thread, due,
    // summary.
    PostgresStatement open_threads;
    PostgresStatement open_threads_after;
    PostgresStatement newest_threads;
    PostgresStatement newest_threads_before;
    PostgresStatement due_threads;    // until, after (due, thread), limit → due, thread
    PostgresStatement count_threads;  // limit → status, count

    // The parameter is the thread; the leased statement also has an epoch. Rows: whether it had a place in the queue
    // (with that epoch), and the number of a deleted log; without a log, one row with null.
    PostgresStatement delete_thread;
    PostgresStatement delete_thread_leased;
    PostgresStatement delete_rows;  // logs, thread → rows of these logs
    PostgresStatement sweep;
    PostgresStatement copy_thread;  // from, to → whether the target contains something
    PostgresStatement is_copy;      // from, to → whether every log exists with the same head
    PostgresStatement put_graph;
    PostgresStatement get_graph;
    PostgresStatement stored_bytes;

    PostgresStatement thread_names;  // after a name or null, limit
    PostgresStatement is_queued;
    PostgresStatement lock_thread;  // protects against forks until the transaction ends
    PostgresStatement thread_rows;  // → number, namespace, kind (0 commit, 1 write), id, path, bytes: a thread's rows
    PostgresStatement commit;       // number, id → bytes
    PostgresStatement drop_log;     // number, head → a row if the head was still that, and is dropped
    PostgresStatement bar_head;     // number, head, thread → a row if the head was still that; nobody writes after it
    PostgresStatement drop_commits;     // number, ids
    PostgresStatement close_chain;      // number, old and new ids of the commit before a row
    PostgresStatement rewrite_commits;  // number, ids of the commits before them, ids, bytes
};

/// Returns the statement of a list. Its parameters are those that the query has, in this order: thread or threads,
/// namespace, the name after which it begins, the id before which it begins, limit. Rows (n, thread, namespace, id,
/// bytes, path): rows with a path are pending writes of the n-th checkpoint, whose names and id they leave out.
PostgresStatement postgresList(const ListQuery& query, const std::string& quoted_schema);

}  // namespace stategraph::checkpoint
