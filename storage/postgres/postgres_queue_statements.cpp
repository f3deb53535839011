#include "storage/postgres/postgres_queue_statements.hpp"

#include <string>
#include <utility>
#include <vector>

#include "storage/postgres/postgres_shard_tables.hpp"
#include "storage/postgres/postgres_tables.hpp"

// Statements for several threads lock their rows in the order of names, so that two of them cannot wait for each other.
// Decisions are made from the locked row, which is its newest version.
namespace stategraph {
namespace {

constexpr const char* ms = " * interval '1 millisecond'";

constexpr const char* submit_sql =
    "SELECT n, answer::bigint, seq, set_config('synchronous_commit', 'on', true) "
    "FROM {S}.submit($1,$2,$3,$4,$5,$6) ORDER BY n";

// An idle thread without other work leaves the queue when a worker next looks at it.
constexpr const char* withdraw_sql =
    "WITH k AS MATERIALIZED (SELECT thread FROM {S}.work WHERE thread = $1 FOR NO KEY UPDATE), "
    "i AS (DELETE FROM {S}.inputs i USING k WHERE i.thread = k.thread AND i.seq = $2 AND i.taken IS NULL "
    "RETURNING i.thread) "
    "UPDATE {S}.work w SET inputs = w.inputs - 1 FROM i WHERE w.thread = i.thread RETURNING 1::bigint";

constexpr const char* cancel_sql =
    "WITH k AS MATERIALIZED (SELECT thread FROM {S}.work WHERE thread = $1 FOR NO KEY UPDATE), "
    "i AS (DELETE FROM {S}.inputs i USING k WHERE i.thread = k.thread AND i.taken IS NULL RETURNING 1), "
    "n AS MATERIALIZED (SELECT count(*)::int AS dropped FROM i) "
    "UPDATE {S}.work w SET is_cancelled = true, is_aside = false, inputs = w.inputs - n.dropped, "
    "due = CASE WHEN w.epoch = 0 THEN now() ELSE w.due END FROM n WHERE w.thread = $1 "
    "RETURNING 1::bigint, set_config('synchronous_commit', 'on', true)";

constexpr const char* wake_sql =
    "UPDATE {S}.work w SET is_woken = true, due = CASE WHEN w.epoch = 0 AND NOT w.is_aside THEN least(w.due, now()) "
    "ELSE w.due END WHERE w.thread = $1 RETURNING 1::bigint";

constexpr const char* retry_sql =
    "UPDATE {S}.work w SET is_aside = false, attempts = 0, due = now(), refused = '{}' WHERE w.thread = $1 AND "
    "w.is_aside RETURNING 1::bigint";

constexpr const char* columns =
    "SELECT w.thread, w.queue, w.graph, w.state::bigint, (extract(epoch FROM w.due) * 1000)::bigint, w.epoch, "
    "coalesce(w.worker, ''), w.attempts::bigint, w.inputs::bigint, w.is_aside, w.is_cancelled, coalesce(w.error, '') "
    "FROM {S}.work w WHERE ";

std::string statsSql(const std::string& is_here) {
    return R"(
SELECT x.queue, count(*) FILTER (WHERE x.due <= now()), count(*) FILTER (WHERE x.due > now() AND x.epoch <> 0),
    count(*) FILTER (WHERE x.due > now() AND x.epoch = 0 AND x.state <> 3),
    count(*) FILTER (WHERE x.due > now() AND x.epoch = 0 AND x.state = 3),
    count(*) FILTER (WHERE x.due IS NULL AND NOT x.is_aside), count(*) FILTER (WHERE x.due IS NULL AND x.is_aside),
    coalesce(sum(x.inputs), 0)::bigint,
    coalesce(extract(epoch FROM now() - min(x.due) FILTER (WHERE x.due <= now())) * 1000, 0)::bigint
FROM {S}.work x WHERE true)" +
           is_here + R"( GROUP BY x.queue ORDER BY x.queue COLLATE "C")";
}

// A thread's old entries in the index of due threads, which are dead, stay in it while somebody has an older
// transaction open. They are at the lower end, where a claim begins: `after` is where it begins instead.
//
// A run has made progress if the newest commit differs from that of the last claim. A claim is on the server's disk
// when it is answered, so a crash cannot give its epoch to another one.
std::string claimSql(const std::string& is_here) {
    return std::string(R"(
WITH g AS MATERIALIZED (SELECT * FROM unnest($3, $4) AS g (graph, version)),
q AS MATERIALIZED (SELECT c.* FROM unnest($5, $6, $7) AS u (queue, most, after), LATERAL (
    SELECT w.thread, w.version AS began, w.is_woken, g.version, w.due AS was FROM {S}.work w JOIN g ON g.graph = w.graph
    WHERE w.queue = u.queue AND w.due <= now() AND w.due > timestamptz 'epoch' + u.after * interval '1 millisecond'
    AND NOT g.version = ANY (w.refused))") +
           is_here + R"(
    ORDER BY w.due LIMIT u.most FOR UPDATE OF w SKIP LOCKED) c),
h AS MATERIALIZED (SELECT q.*, (SELECT c.id FROM {S}.logs l, LATERAL (SELECT c.id FROM {S}.commits c
        WHERE c.log = l.log ORDER BY c.prev DESC LIMIT 1) c WHERE l.thread = q.thread AND l.ns = '') AS head FROM q),
t AS (UPDATE {S}.work w SET due = now() + $2)" +
           ms + R"(, epoch = nextval('{S}.epochs'), worker = $1, is_woken = false,
    attempts = CASE WHEN w.head IS NOT DISTINCT FROM h.head THEN least(w.attempts, 2147483646) + 1 ELSE 1 END,
    head = h.head, version = h.version, since = now()
    FROM h WHERE w.thread = h.thread
    RETURNING w.thread, w.queue, w.graph, w.epoch, w.state, w.attempts, h.is_woken, w.is_cancelled, h.head, h.began,
        w.error, h.was),
n AS (INSERT INTO {S}.uptime (number) SELECT nextval('{S}.epochs') WHERE NOT EXISTS (SELECT FROM {S}.uptime)
    ON CONFLICT DO NOTHING RETURNING number)
SELECT t.thread, t.queue, t.graph, t.epoch, t.state::bigint, t.attempts::bigint, t.is_woken, t.is_cancelled, t.head,
    t.began, coalesce(t.error, ''), i.seq, i.input,
    (SELECT n.number FROM n UNION ALL SELECT u.number FROM {S}.uptime u LIMIT 1),
    (extract(epoch FROM t.was) * 1000)::bigint, set_config('synchronous_commit', 'on', true)
FROM t LEFT JOIN LATERAL (SELECT i.seq, i.input FROM {S}.inputs i WHERE t.state = 0 AND i.thread = t.thread AND
    i.taken IS NULL ORDER BY i.seq LIMIT 1) i ON true)";
}

std::string renewSql(const std::string& is_here) {
    return std::string(
               "WITH k AS MATERIALIZED (SELECT w.thread, w.is_cancelled FROM unnest($1, $2) AS u (thread, epoch) JOIN "
               "{S}.work w ON w.thread = u.thread AND w.epoch = u.epoch") +
           is_here +
           " ORDER BY w.thread FOR NO KEY UPDATE OF w), "
           "p AS (UPDATE {S}.work w SET due = now() + $3" +
           ms + " FROM k WHERE w.thread = k.thread) SELECT thread, is_cancelled FROM k";
}

// After a crash of the server, what a run stored `async` may be lost, and the outcome may refer to it. Such a thread is
// due, so that a worker looks at what is stored. Outcomes are numbers of WorkOutcome. At most the 16 newest refusals
// are kept.
std::string releaseSql(const std::string& is_here) {
    return std::string(R"(
WITH k AS MATERIALIZED (SELECT w.thread, w.inputs, w.is_woken, w.is_cancelled, u.ms, u.error, u.version,
    CASE WHEN u.outcome IN (0, 1, 3, 4) AND u.uptime <> 0
        AND NOT EXISTS (SELECT FROM {S}.uptime x WHERE x.number = u.uptime) THEN 2 ELSE u.outcome END AS outcome
    FROM unnest($1, $2, $3, $4, $5, $6, $7) AS u (thread, epoch, outcome, ms, error, version, uptime)
    JOIN {S}.work w ON w.thread = u.thread AND w.epoch = u.epoch)") +
           is_here + R"( ORDER BY w.thread FOR UPDATE OF w),
e AS MATERIALIZED (SELECT k.*, k.outcome IN (0, 1) AND k.inputs = 0 AND (k.outcome = 1 OR NOT k.is_woken) AS is_done
    FROM k),
d AS (DELETE FROM {S}.work w USING e WHERE w.thread = e.thread AND e.is_done),
p AS (UPDATE {S}.work w SET epoch = 0, worker = NULL, since = now(),
    state = CASE WHEN e.outcome IN (0, 1) THEN 0 WHEN e.outcome = 3 THEN 2 WHEN e.outcome = 4 THEN 3 ELSE w.state END,
    due = CASE WHEN e.outcome IN (0, 1, 2, 7) OR e.is_cancelled THEN now()
        WHEN e.outcome = 6 THEN NULL
        WHEN e.outcome = 5 THEN now() + e.ms)" +
           ms + R"( WHEN e.is_woken THEN now()
        WHEN e.outcome = 4 THEN greatest(to_timestamp(e.ms / 1000.0), now() + interval '50 milliseconds') END,
    attempts = CASE WHEN e.outcome IN (0, 1, 3, 4) THEN 0 WHEN e.outcome IN (2, 7) THEN greatest(w.attempts - 1, 0)
        ELSE w.attempts END,
    refused = CASE WHEN e.outcome <> 7 THEN w.refused ELSE w.refused[greatest(1, cardinality(w.refused) - 14):] ||
        e.version END,
    version = CASE WHEN e.outcome = 7 THEN NULL ELSE w.version END,
    is_cancelled = e.is_cancelled AND e.outcome <> 1, is_aside = e.outcome = 6 AND NOT e.is_cancelled,
    error = nullif(e.error, '')
    FROM e WHERE w.thread = e.thread AND NOT e.is_done)
SELECT thread FROM k)";
}

constexpr const char* forget_keys_sql =
    "WITH o AS MATERIALIZED (SELECT thread, seq FROM {S}.inputs WHERE taken < now() - $1 * interval '1 millisecond' "
    "ORDER BY taken LIMIT $2 FOR UPDATE SKIP LOCKED), d AS (DELETE FROM {S}.inputs i USING o WHERE i.thread = o.thread "
    "AND i.seq = o.seq RETURNING 1) SELECT count(*) FROM d";

}  // namespace

PostgresQueue::Statements::Statements(const std::string& quoted_schema, bool has_slots) {
    using namespace checkpoint;
    const auto make = [&](const char* name, const std::string& sql, std::vector<Oid> types) {
        return PostgresStatement{name, inSchema(sql, quoted_schema), std::move(types)};
    };
    submit =
        make("q_submit", submit_sql,
             {bytea_array_type, text_array_type, text_array_type, bytea_array_type, bytea_array_type, bigint_type});
    withdraw = make("q_withdraw", withdraw_sql, {bytea_type, bigint_type});
    cancel = make("q_cancel", cancel_sql, {bytea_type});
    wake = make("q_wake", wake_sql, {bytea_type});
    retry = make("q_retry", retry_sql, {bytea_type});
    find = make("q_find", std::string(columns) + "w.thread = $1", {bytea_type});
    const std::string is_here = threadIsHere(has_slots, "w.thread", true);
    set_aside = make("q_set_aside",
                     std::string(columns) + "w.is_aside AND w.thread > $1" + threadIsHere(has_slots, "w.thread") +
                         " ORDER BY w.thread LIMIT $2",
                     {bytea_type, bigint_type});
    stats = make("q_stats", statsSql(threadIsHere(has_slots, "x.thread")), {});
    claim = make("q_claim", claimSql(is_here),
                 {text_type, bigint_type, text_array_type, uuid_array_type, text_array_type, bigint_array_type,
                  bigint_array_type});
    renew = make("q_renew", renewSql(is_here), {bytea_array_type, bigint_array_type, bigint_type});
    release = make("q_release", releaseSql(is_here),
                   {bytea_array_type, bigint_array_type, bigint_array_type, bigint_array_type, text_array_type,
                    uuid_array_type, bigint_array_type});
    forget_keys = make("q_forget_keys", forget_keys_sql, {bigint_type, bigint_type});
}

}  // namespace stategraph
