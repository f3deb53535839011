#pragma once
#include <stategraph/postgres_queue.hpp>

#include "storage/postgres/postgres_connection.hpp"

namespace stategraph {

/// The statements of a queue. Times are milliseconds: points in time since 1970, and lengths of durations.
struct PostgresQueue::Statements {
    /// `has_slots`: as of PostgresStatements.
    Statements(const std::string& quoted_schema, bool has_slots);

    checkpoint::PostgresStatement submit;       // threads, queues, graphs, keys, inputs, most → n, answer, number
    checkpoint::PostgresStatement withdraw;     // thread, number → a row if it waited
    checkpoint::PostgresStatement cancel;       // thread → a row if it exists
    checkpoint::PostgresStatement wake;         // the same
    checkpoint::PostgresStatement retry;        // the same, if it is set aside
    checkpoint::PostgresStatement find;         // thread → the columns of queuedThreads
    checkpoint::PostgresStatement set_aside;    // the thread after which it begins, limit → the same
    checkpoint::PostgresStatement stats;        // → the members of QueueStats
    checkpoint::PostgresStatement claim;        // worker, lease, graphs, versions, queues, counts → those of Claim
    checkpoint::PostgresStatement renew;        // threads, epochs, lease → thread, whether it is cancelled
    checkpoint::PostgresStatement release;      // the members of Release as arrays → threads
    checkpoint::PostgresStatement forget_keys;  // time, limit → the number
};

}  // namespace stategraph
