#pragma once
#include <string>

#include <stategraph/saver.hpp>

#include "storage/postgres/postgres_connection.hpp"

// What a saver executes.
namespace stategraph::checkpoint {

struct PostgresStatements {
    explicit PostgresStatements(const std::string& schema);

    // Parameters of the first four: log, expected head, id, parent, base, bytes, synchronous_commit; of those to a
    // thread's own log also the status and wake time of PutRequest::outlook and placeKeptFrom(id); of leased ones at
    // the end the epoch. One row: it is stored.
    PostgresStatement append;  // to a thread's own log
    PostgresStatement append_leased;
    PostgresStatement append_inner;  // to that of a subgraph
    PostgresStatement append_inner_leased;
    PostgresStatement put;         // the function
    PostgresStatement put_work;    // the function for threads of the queue: also an epoch, an input's number, or null
    PostgresStatement has_lease;   // thread, epoch → whether it is the thread's
    PostgresStatement head;        // log → its newest id, or no row
    PostgresStatement has_commit;  // log, id → whether it is there
    PostgresStatement has_writes;  // log, ids, paths, bytes → whether all are there as they are

    // A log, and an id but for the newest. Rows (kind, id, path, bytes, head): 0 the checkpoint, 1 a commit that leads
    // to it, 2 the one that follows it, 3 a pending write.
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

    // Thread; the leased one also an epoch. Rows: whether it had a place in the queue (of that epoch), the number of a
    // log that was deleted; without a log one row with null.
    PostgresStatement delete_thread;
    PostgresStatement delete_thread_leased;
    PostgresStatement delete_rows;  // of these logs
    PostgresStatement sweep;
    PostgresStatement copy_thread;  // from, to → whether the target has something
    PostgresStatement is_copy;      // from, to → whether every log is there with the same head
    PostgresStatement put_graph;
    PostgresStatement get_graph;
    PostgresStatement stored_bytes;

    PostgresStatement thread_names;  // after a name or null, limit
    PostgresStatement lock_thread;   // against forks, until the transaction ends
    PostgresStatement thread_rows;  // → number, namespace, kind (0 commit, 1 write), id, path, bytes: a thread's rows
    PostgresStatement commit;       // number, id → bytes
    PostgresStatement drop_log;     // number, head → a row if it was still that, and is dropped
    PostgresStatement drop_commits;     // number, ids
    PostgresStatement close_chain;      // number, old and new ids of what is before a row
    PostgresStatement rewrite_commits;  // number, ids of what is before them, ids, bytes
};

/// The statement of a list: its parameters are those that the query has, in this order: thread or threads, namespace,
/// the name after which it begins, the id before which it begins, limit. Rows (n, thread, namespace, id, bytes, path):
/// those with a path are pending writes of the n-th checkpoint, whose names and id they leave out.
PostgresStatement postgresList(const ListQuery& query, const std::string& quoted_schema);

}  // namespace stategraph::checkpoint
