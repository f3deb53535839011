#pragma once

// Parts of statements: how a thread `w` of the queue stands, by what the workers that are alive serve.
namespace stategraph::queue {

/// `a`: what the workers that are alive serve.
inline constexpr const char* alive_sql =
    "WITH a AS MATERIALIZED (SELECT k.queues, g.graph, g.version FROM {S}.workers k, unnest(k.graphs, k.versions) AS g "
    "(graph, version) WHERE k.until > now()) ";

/// The QueueStanding of a row, as a number. One that is due is unserved if workers serve its queue and none of them has
/// its graph in a version that did not refuse it, or if there are workers and none has the graph. Without any worker it
/// is ready for the first that comes.
inline constexpr const char* standing_sql = R"(CASE WHEN w.due <= now() THEN CASE WHEN NOT w.is_cancelled AND NOT EXISTS
    (SELECT FROM a WHERE a.graph = w.graph AND (w.queue = ANY (a.queues) OR EXISTS (SELECT FROM unnest(a.queues) AS p
        WHERE right(p, 1) = '*' AND starts_with(w.queue, left(p, -1)))) AND NOT a.version = ANY (w.refused))
    AND (EXISTS (SELECT FROM a WHERE w.queue = ANY (a.queues) OR EXISTS (SELECT FROM unnest(a.queues) AS p
        WHERE right(p, 1) = '*' AND starts_with(w.queue, left(p, -1)))) OR (EXISTS (SELECT FROM a)
    AND NOT EXISTS (SELECT FROM a WHERE a.graph = w.graph))) THEN 6 ELSE 0 END
    WHEN w.due IS NULL THEN CASE WHEN w.is_aside THEN 5 ELSE 4 END
    WHEN w.epoch <> 0 THEN 1 WHEN w.state <> 3 THEN 2 ELSE 3 END)";

}  // namespace stategraph::queue
