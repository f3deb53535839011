#pragma once
#include <array>

#include <stategraph/postgres_queue.hpp>
#include <stategraph/queue_query.hpp>

#include "storage/postgres/postgres_connection.hpp"

namespace stategraph {

/// The statements of a queue. Times are milliseconds: points in time since 1970, and lengths of durations.
struct PostgresQueue::Statements {
    explicit Statements(const std::string& quoted_schema);

    checkpoint::PostgresStatement submit;      // threads, queues, graphs, keys, inputs, most → n, answer, number
    checkpoint::PostgresStatement withdraw;    // thread, number → a row if it waited
    checkpoint::PostgresStatement wake;        // thread → a row if it exists
    checkpoint::PostgresStatement find;        // thread → the columns of queuedThreads
    checkpoint::PostgresStatement set_aside;   // the thread after which it begins, limit → the same
    checkpoint::PostgresStatement stats;       // → the members of QueueStats
    checkpoint::PostgresStatement list;        // the same, and a QueueStanding or -1 → the same
    checkpoint::PostgresStatement due_queues;  // prefix, the queue after which it begins, how many, visits → name, due
    checkpoint::PostgresStatement set_limit;   // queue, runs or -1, thousandths of a thread a second or -1
    checkpoint::PostgresStatement limits;      // → the members of QueueLimit
    checkpoint::PostgresStatement enlist;      // number or 0, the members of QueueWorker, lease → number
    checkpoint::PostgresStatement leave;       // number
    checkpoint::PostgresStatement workers;     // → the members of QueueWorker, a row for each queue and graph
    checkpoint::PostgresStatement claim;       // the members of ClaimRequest → those of Claim
    checkpoint::PostgresStatement begin;       // threads, epochs → threads
    checkpoint::PostgresStatement renew;       // threads, epochs, lease → the members of Renewed
    checkpoint::PostgresStatement release;     // the members of Release as arrays → threads
    checkpoint::PostgresStatement forget_keys;  // time, limit → the number

    /// By QueueChange: one thread and the reason, all that fit a query, and those which that would change → the number.
    using ByChange = std::array<checkpoint::PostgresStatement, queue_changes>;
    ByChange changes;
    ByChange all_changes;
    ByChange previews;  // → also the thread
};

}  // namespace stategraph
