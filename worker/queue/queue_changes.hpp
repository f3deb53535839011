#pragma once
#include <string>
#include <vector>

#include <libpq-fe.h>

#include <stategraph/queue_query.hpp>

// The statements of PostgresQueue::change, and those of limits.
namespace stategraph::queue {

/// Changes the thread $1, for the reason $2. Returns how many threads that were, 0 or 1.
std::string changeSql(QueueChange change);
/// Changes all threads that fit a query, for the reason in the last parameter but one, at most as many as the last one
/// says. Returns how many.
std::string changeAllSql(QueueChange change);
/// Returns a row for each of these threads, at most as many as the last parameter says, in the order of names: how many
/// there are in all, and the thread. It has the parameters of changeAllSql.
std::string previewSql(QueueChange change);
/// The parameters of both: queue, graph, worker, standing or -1, error, metadata, since when at the earliest and at the
/// latest (0: none), beginning of the name, reason, limit.
std::vector<Oid> changeAllTypes();

/// A rate begins without tokens.
inline constexpr const char* set_limit_sql =
    "WITH d AS (DELETE FROM {S}.limits WHERE queue = $1 AND $2 < 0 AND $3 < 0) "
    "INSERT INTO {S}.limits AS l (queue, runs, rate) SELECT $1, nullif($2, -1), nullif($3, -1) / 1000.0::double "
    "precision WHERE $2 >= 0 OR $3 >= 0 ON CONFLICT (queue) DO UPDATE SET runs = excluded.runs, rate = excluded.rate, "
    "tokens = 0, refilled = clock_timestamp()";

inline constexpr const char* limits_sql =
    "SELECT l.queue, coalesce(l.runs, -1), coalesce((l.rate * 1000)::bigint, -1), (SELECT count(*) FROM {S}.work w "
    "WHERE w.queue = l.queue AND w.epoch <> 0 AND w.due > now()) FROM {S}.limits l ORDER BY l.queue";

}  // namespace stategraph::queue
