#include "worker/queue/postgres_queue_statements.hpp"

#include <string>
#include <utility>
#include <vector>

#include "storage/postgres/postgres_hold_tables.hpp"
#include "storage/postgres/postgres_tables.hpp"
#include "worker/queue/queue_changes.hpp"
#include "worker/queue/queue_standing.hpp"

// Statements for several threads lock their rows in the order of names, so that two of them cannot wait for each other.
// Decisions are made from the locked row, which is its newest version.
namespace stategraph {
namespace {

constexpr const char* ms = " * interval '1 millisecond'";

constexpr const char* submit_sql =
    "SELECT n, answer::bigint, seq, set_config('synchronous_commit', 'on', true) "
    "FROM {S}.submit($1,$2,$3,$4,$5,$6,$7) ORDER BY n";

// An idle thread without other work leaves the queue when a worker next looks at it.
constexpr const char* withdraw_sql =
    "WITH k AS MATERIALIZED (SELECT thread FROM {S}.work WHERE thread = $1 FOR NO KEY UPDATE), "
    "i AS (DELETE FROM {S}.inputs i USING k WHERE i.thread = k.thread AND i.seq = $2 AND i.taken IS NULL "
    "RETURNING i.thread) "
    "UPDATE {S}.work w SET inputs = w.inputs - 1 FROM i WHERE w.thread = i.thread RETURNING 1::bigint";

constexpr const char* wake_sql =
    "UPDATE {S}.work w SET is_woken = true, due = CASE WHEN w.epoch = 0 AND NOT w.is_aside THEN least(w.due, now()) "
    "ELSE w.due END WHERE w.thread = $1 RETURNING 1::bigint";

std::string threadsSql(const std::string& which) {
    return std::string(queue::alive_sql) +
           "SELECT w.thread, w.queue, w.graph, w.state::bigint, (extract(epoch FROM w.due) * 1000)::bigint, w.epoch, "
           "coalesce(w.worker, ''), w.attempts::bigint, w.inputs::bigint, w.is_aside, w.is_cancelled, "
           "coalesce(w.error, ''), w.standing::bigint, (extract(epoch FROM w.since) * 1000)::bigint, w.apart::bigint "
           "FROM (SELECT w.*, " +
           queue::standing_sql + " AS standing FROM {S}.work w WHERE " + which + ") w";
}

std::string statsSql() {
    const auto count = [](int number) {
        return "count(*) FILTER (WHERE x.standing = " + std::to_string(number) + "), ";
    };
    return std::string(queue::alive_sql) + "SELECT x.queue, " + count(0) + count(1) + count(2) + count(3) + count(4) +
           count(5) +
           R"(coalesce(sum(x.inputs), 0)::bigint,
    coalesce(extract(epoch FROM now() - min(x.due) FILTER (WHERE x.standing = 0)) * 1000, 0)::bigint,
    count(*) FILTER (WHERE x.standing = 6) FROM (SELECT w.*, )" +
           queue::standing_sql + R"( AS standing FROM {S}.work w) x GROUP BY x.queue ORDER BY x.queue COLLATE "C")";
}

// Rows of workers that have long been gone are removed when one comes.
std::string enlistSql() {
    return std::string("WITH s AS (") + checkpoint::postgres_note_start +
           "), d AS (DELETE FROM {S}.workers WHERE $1 = 0 AND until < now() - interval '1 day') "
           "INSERT INTO {S}.workers AS k (number, name, queues, graphs, versions, slots, until) VALUES (CASE WHEN $1 = "
           "0 THEN "
           "nextval('{S}.epochs') ELSE $1 END, $2, $3, $4, $5, $6, now() + $7 * interval '1 millisecond') "
           "ON CONFLICT (number) DO UPDATE SET until = excluded.until RETURNING k.number";
}

constexpr const char* workers_sql =
    "SELECT k.number, k.name, k.slots, (extract(epoch FROM k.since) * 1000)::bigint, "
    "(extract(epoch FROM k.until) * 1000)::bigint, k.until > now(), (SELECT count(*) FROM {S}.work w WHERE w.worker = "
    "k.name AND w.epoch <> 0), i.is_graph, i.name FROM {S}.workers k, LATERAL (SELECT false AS is_graph, q AS name "
    "FROM "
    "unnest(k.queues) AS q UNION ALL SELECT true, g FROM unnest(k.graphs) AS g) i ORDER BY k.number, i.is_graph, "
    "i.name COLLATE \"C\"";

// A thread whose lease ran out was held by a process that died, was frozen or was cut off. It may be what killed it, so
// it is tried again with a quarter of those that were together with it, and in the end alone. Until it was tried alone,
// nothing says that it is to blame. A thread with such a limit that was not run says nothing either.
constexpr const char* apart_if_claimed =
    "CASE WHEN w.epoch = 0 OR (w.apart > 0 AND NOT w.is_begun) THEN w.apart "
    "WHEN w.apart = 0 THEN greatest(1, (w.together + 3) / 4) ELSE (w.apart + 3) / 4 END";

// A thread's old entries in the index of due threads, which are dead, stay in it while somebody has an older
// transaction open. They are at the lower end, where a claim begins: `after` is where it begins instead.
//
// A run has made progress if the newest commit differs from that of the last claim. A claim is on the server's disk
// when it is answered, so a crash cannot give its epoch to another one.
//
// Threads are taken in turn as long as each of them may be with all that the worker has then. One that has waited for
// a lease may be taken first though the worker has too many: the worker ends these before it begins it. A cancelled
// thread needs no graph. A thread that a run outside the queue holds stays due until it is given back.
//
// Rows of `limits` are locked in the order of names, before any thread is looked for. A queue that gave less than was
// wanted because of its limit is a row without a thread at the end.
std::string claimSql() {
    return std::string(R"(
WITH g AS MATERIALIZED (SELECT * FROM unnest($3, $4) AS g (graph, version)),
l AS MATERIALIZED (SELECT x.queue, m.* FROM (SELECT l.queue FROM {S}.limits l WHERE l.queue = ANY ($5)
    ORDER BY l.queue) x, LATERAL {S}.room(x.queue) m),
q AS MATERIALIZED (SELECT c.*, u.place FROM unnest($5, $6, $7) WITH ORDINALITY AS u (queue, most, after, place),
    LATERAL (SELECT w.thread, w.queue, w.version AS began, w.is_woken, g.version, w.due AS was, w.epoch <> 0 AS is_lost,
        w.due <= now() - $2)") +
           ms + R"( AND (w.epoch <> 0 OR w.apart > 0) AS is_overdue, )" + apart_if_claimed +
           R"( AS apart FROM {S}.work w LEFT JOIN g ON g.graph = w.graph
    WHERE w.queue = u.queue AND w.due <= now() AND w.due > timestamptz 'epoch' + u.after * interval '1 millisecond'
    AND (w.is_cancelled OR (g.graph IS NOT NULL AND NOT g.version = ANY (w.refused)))
    AND ((w.epoch = 0 AND w.apart = 0) OR w.due <= now() - $2)" +
           ms + " OR " + apart_if_claimed + R"( > $8)
    AND NOT EXISTS (SELECT FROM {S}.holds d WHERE d.thread = w.thread AND NOT {S}.is_holder_gone(d.holder))
    ORDER BY w.due LIMIT least(u.most, (SELECT l.room FROM l WHERE l.queue = u.queue)) FOR UPDATE OF w SKIP LOCKED) c),
u AS MATERIALIZED (SELECT * FROM {S}.unheld(ARRAY(SELECT q.thread FROM q)) AS u (thread)),
h AS MATERIALIZED (SELECT q.*, (SELECT c.id FROM {S}.logs l, LATERAL (SELECT c.id FROM {S}.commits c
        WHERE c.log = l.log ORDER BY c.prev DESC LIMIT 1) c WHERE l.thread = q.thread AND l.ns = '') AS head
    FROM q JOIN u ON u.thread = q.thread),
r AS MATERIALIZED (SELECT h.*, row_number() OVER o AS n,
    min(CASE h.apart WHEN 0 THEN 2147483647 ELSE h.apart END) OVER o AS room
    FROM h WINDOW o AS (ORDER BY NOT h.is_overdue, h.place, h.was, h.thread ROWS UNBOUNDED PRECEDING)),
k AS MATERIALIZED (SELECT r.*, count(*) OVER () AS many FROM r WHERE r.n = 1 OR $8 + r.n <= r.room),
t AS (UPDATE {S}.work w SET due = now() + $2)" +
           ms + R"(, epoch = nextval('{S}.epochs'), worker = $1, is_woken = false,
    attempts = CASE WHEN w.head IS DISTINCT FROM k.head THEN 1
        WHEN k.is_lost AND NOT (w.apart = 1 AND w.is_begun) THEN greatest(w.attempts, 1)
        ELSE least(w.attempts, 2147483646) + 1 END,
    apart = CASE WHEN k.is_lost AND w.head IS DISTINCT FROM k.head THEN greatest(1, (w.together + 3) / 4)
        ELSE k.apart END, together = $8 + k.many, is_begun = false,
    head = k.head, version = k.version, since = now()
    FROM k WHERE w.thread = k.thread
    RETURNING w.thread, w.queue, w.graph, w.epoch, w.state, w.attempts, k.is_woken, w.is_cancelled, k.head, k.began,
        w.error, k.was, w.apart),
y AS (UPDATE {S}.limits x SET tokens = l.tokens - c.n, refilled = l.moment
    FROM (SELECT k.queue, count(*) AS n FROM k GROUP BY k.queue) c JOIN l ON l.queue = c.queue
    WHERE x.queue = c.queue AND l.tokens IS NOT NULL),
n AS (INSERT INTO {S}.uptime (number) SELECT nextval('{S}.epochs') WHERE NOT EXISTS (SELECT FROM {S}.uptime)
    ON CONFLICT DO NOTHING RETURNING number)
SELECT t.thread, t.queue, t.graph, t.epoch, t.state::bigint, t.attempts::bigint, t.is_woken, t.is_cancelled, t.head,
    t.began, coalesce(t.error, ''), i.seq, i.input,
    (SELECT n.number FROM n UNION ALL SELECT u.number FROM {S}.uptime u LIMIT 1),
    (extract(epoch FROM t.was) * 1000)::bigint, t.apart::bigint, set_config('synchronous_commit', 'on', true)
FROM t LEFT JOIN LATERAL (SELECT i.seq, i.input FROM {S}.inputs i WHERE t.state = 0 AND i.thread = t.thread AND
    i.taken IS NULL ORDER BY i.seq LIMIT 1) i ON true
UNION ALL SELECT NULL, l.queue, '', 0, 0, 0, false, false, NULL, NULL, '', NULL, NULL, 0, 0, 0, '' FROM l
    JOIN unnest($5, $6) AS u (queue, most) ON u.queue = l.queue WHERE l.room < u.most)";
}

// It is on the server's disk before the thread is run.
constexpr const char* begin_sql =
    "WITH k AS MATERIALIZED (SELECT w.thread FROM unnest($1, $2) AS u (thread, epoch) JOIN {S}.work w ON "
    "w.thread = u.thread AND w.epoch = u.epoch ORDER BY w.thread FOR NO KEY UPDATE OF w SKIP LOCKED), "
    "p AS (UPDATE {S}.work w SET is_begun = true FROM k WHERE w.thread = k.thread) "
    "SELECT thread, set_config('synchronous_commit', 'on', true) FROM k";

// A row that another transaction has locked is not waited for: the leases of the others must not wait for it.
std::string renewSql() {
    return std::string(
               "WITH v AS MATERIALIZED (SELECT w.thread, w.epoch, w.is_cancelled FROM unnest($1, $2) AS u (thread, "
               "epoch) JOIN {S}.work w ON w.thread = u.thread AND w.epoch = u.epoch), "
               "k AS MATERIALIZED (SELECT w.thread FROM v JOIN {S}.work w ON w.thread = v.thread AND w.epoch = v.epoch "
               "ORDER BY w.thread FOR NO KEY UPDATE OF w SKIP LOCKED), "
               "p AS (UPDATE {S}.work w SET due = now() + $3") +
           ms +
           " FROM k WHERE w.thread = k.thread) SELECT v.thread, v.is_cancelled, k.thread IS NOT NULL FROM v LEFT JOIN "
           "k ON k.thread = v.thread";
}

// After a crash of the server, what a run stored `async` may be lost, and the outcome may refer to it. Such a thread is
// due, so that a worker looks at what is stored. Outcomes are numbers of WorkOutcome. At most the 16 newest refusals
// are kept. A thread that was run, and came back, has not killed its process. It waits for rows that others
// have locked, because a thread that was left out would stay leased.
std::string releaseSql() {
    return std::string(R"(
WITH k AS MATERIALIZED (SELECT w.thread, w.inputs, w.is_woken, w.is_cancelled, u.ms, u.error, u.version,
    CASE WHEN u.outcome IN (0, 1, 3, 4) AND u.uptime <> 0
        AND NOT EXISTS (SELECT FROM {S}.uptime x WHERE x.number = u.uptime) THEN 2 ELSE u.outcome END AS outcome
    FROM unnest($1, $2, $3, $4, $5, $6, $7) AS u (thread, epoch, outcome, ms, error, version, uptime)
    JOIN {S}.work w ON w.thread = u.thread AND w.epoch = u.epoch ORDER BY w.thread FOR UPDATE OF w),
e AS MATERIALIZED (SELECT k.*, k.outcome IN (0, 1) AND k.inputs = 0 AND (k.outcome = 1 OR NOT k.is_woken) AS is_done
    FROM k),
d AS (DELETE FROM {S}.work w USING e WHERE w.thread = e.thread AND e.is_done),
p AS (UPDATE {S}.work w SET epoch = 0, worker = NULL, since = now(),
    state = CASE WHEN e.outcome IN (0, 1) THEN 0 WHEN e.outcome = 3 THEN 2 WHEN e.outcome = 4 THEN 3 ELSE w.state END,
    due = CASE WHEN e.outcome IN (0, 1, 2, 7) OR e.is_cancelled THEN now()
        WHEN e.outcome = 6 THEN NULL
        WHEN e.outcome = 5 THEN now() + e.ms)") +
           ms + R"( WHEN e.is_woken THEN now()
        WHEN e.outcome = 4 THEN greatest(to_timestamp(e.ms / 1000.0), now() + interval '50 milliseconds') END,
    attempts = CASE WHEN e.outcome IN (0, 1, 3, 4) THEN 0 WHEN e.outcome IN (2, 7) THEN greatest(w.attempts - 1, 0)
        ELSE w.attempts END,
    refused = CASE WHEN e.outcome <> 7 THEN w.refused ELSE w.refused[greatest(1, cardinality(w.refused) - 14):] ||
        e.version END,
    version = CASE WHEN e.outcome = 7 THEN NULL ELSE w.version END,
    apart = CASE WHEN e.outcome IN (2, 6, 7) THEN w.apart ELSE 0 END,
    is_cancelled = e.is_cancelled AND e.outcome <> 1, is_aside = e.outcome = 6 AND NOT e.is_cancelled,
    error = nullif(e.error, '')
    FROM e WHERE w.thread = e.thread AND NOT e.is_done)
SELECT thread FROM k)";
}

// Steps from queue to queue, with two looks into the index for each.
constexpr const char* due_queues_sql = R"(
WITH RECURSIVE n (queue, is_due, visits, found) AS (
    (SELECT w.queue, EXISTS (SELECT FROM {S}.work d WHERE d.queue = w.queue AND d.due <= now()), 1, 0::bigint
        FROM {S}.work w WHERE w.due IS NOT NULL AND w.queue > $2 AND w.queue >= $1 ORDER BY w.queue LIMIT 1)
    UNION ALL SELECT x.queue, x.is_due, n.visits + 1, n.found + n.is_due::int FROM n, LATERAL (
        SELECT w.queue, EXISTS (SELECT FROM {S}.work d WHERE d.queue = w.queue AND d.due <= now()) AS is_due
        FROM {S}.work w WHERE w.due IS NOT NULL AND w.queue > n.queue ORDER BY w.queue LIMIT 1) x
    WHERE starts_with(n.queue, $1) AND n.visits < $4 AND n.found + n.is_due::int < $3)
SELECT n.queue, n.is_due FROM n WHERE starts_with(n.queue, $1))";

constexpr const char* forget_keys_sql =
    "WITH o AS MATERIALIZED (SELECT thread, seq FROM {S}.inputs WHERE taken < now() - $1 * interval '1 millisecond' "
    "ORDER BY taken LIMIT $2 FOR UPDATE SKIP LOCKED), d AS (DELETE FROM {S}.inputs i USING o WHERE i.thread = o.thread "
    "AND i.seq = o.seq RETURNING 1) SELECT count(*) FROM d";

}  // namespace

PostgresQueue::Statements::Statements(const std::string& quoted_schema) {
    using namespace checkpoint;
    const auto make = [&](const char* name, const std::string& sql, std::vector<Oid> types) {
        return PostgresStatement{name, inSchema(sql, quoted_schema), std::move(types)};
    };
    submit = make("q_submit", submit_sql,
                  {bytea_array_type, text_array_type, text_array_type, bytea_array_type, bytea_array_type,
                   text_array_type, bigint_type});
    withdraw = make("q_withdraw", withdraw_sql, {bytea_type, bigint_type});
    wake = make("q_wake", wake_sql, {bytea_type});
    find = make("q_find", threadsSql("w.thread = $1"), {bytea_type});
    set_aside = make("q_set_aside", threadsSql("w.is_aside AND w.thread > $1") + " ORDER BY w.thread LIMIT $2",
                     {bytea_type, bigint_type});
    list = make("q_list", threadsSql("w.thread > $1") + " WHERE $3 < 0 OR w.standing = $3 ORDER BY w.thread LIMIT $2",
                {bytea_type, bigint_type, bigint_type});
    stats = make("q_stats", statsSql(), {});
    claim = make("q_claim", claimSql(),
                 {text_type, bigint_type, text_array_type, uuid_array_type, text_array_type, bigint_array_type,
                  bigint_array_type, bigint_type});
    begin = make("q_begin", begin_sql, {bytea_array_type, bigint_array_type});
    renew = make("q_renew", renewSql(), {bytea_array_type, bigint_array_type, bigint_type});
    release = make("q_release", releaseSql(),
                   {bytea_array_type, bigint_array_type, bigint_array_type, bigint_array_type, text_array_type,
                    uuid_array_type, bigint_array_type});
    enlist =
        make("q_enlist", enlistSql(),
             {bigint_type, text_type, text_array_type, text_array_type, uuid_array_type, bigint_type, bigint_type});
    leave = make("q_leave", "DELETE FROM {S}.workers WHERE number = $1", {bigint_type});
    workers = make("q_workers", workers_sql, {});
    due_queues = make("q_due_queues", due_queues_sql, {text_type, text_type, bigint_type, bigint_type});
    for (std::size_t i = 0; i < changes.size(); ++i) {
        const auto change = static_cast<QueueChange>(i);
        const std::string name = std::string("q_change_") + toString(change);
        changes[i] = make(name.c_str(), queue::changeSql(change), {bytea_type, text_type});
        all_changes[i] = make((name + "_all").c_str(), queue::changeAllSql(change), queue::changeAllTypes());
        previews[i] = make((name + "_preview").c_str(), queue::previewSql(change), queue::changeAllTypes());
    }
    set_limit = make("q_set_limit", queue::set_limit_sql, {text_type, bigint_type, bigint_type});
    limits = make("q_limits", queue::limits_sql, {});
    forget_keys = make("q_forget_keys", forget_keys_sql, {bigint_type, bigint_type});
}

}  // namespace stategraph
