#include "storage/postgres/postgres_joined_statement.hpp"

#include "storage/postgres/postgres_index.hpp"
#include "storage/postgres/postgres_values.hpp"

namespace stategraph::checkpoint {
namespace {

// What every put must have to be stored: no lease or hold is asked for, or its epoch is the thread's; and its input is
// there. As in single puts, the row of the queue or of holds comes before the log's.
constexpr const char* permitted_sql = R"(
WITH v AS MATERIALIZED (SELECT * FROM unnest($1, $2, $3, $4, $9, $10, $11, $12, $13, $14, $22)
    WITH ORDINALITY AS u (thread, ns, expected, id, is_status, wakes, second_ago, epoch, takes, tells, hold, n)),
f AS MATERIALIZED (SELECT v.* FROM v JOIN {S}.work w ON w.thread = v.thread AND w.epoch = v.epoch
    WHERE v.takes IS NULL FOR KEY SHARE OF w SKIP LOCKED),
g AS MATERIALIZED (SELECT v.* FROM v JOIN {S}.work w ON w.thread = v.thread AND w.epoch = v.epoch
    WHERE v.takes IS NOT NULL FOR NO KEY UPDATE OF w SKIP LOCKED),
x AS MATERIALIZED (SELECT g.* FROM g JOIN {S}.inputs i ON i.thread = g.thread AND i.seq = g.takes
    WHERE i.taken IS NULL FOR UPDATE OF i SKIP LOCKED),
b AS MATERIALIZED (SELECT v.* FROM v JOIN {S}.holds h ON h.thread = v.thread AND h.epoch = v.hold
    FOR KEY SHARE OF h SKIP LOCKED),
p AS MATERIALIZED (SELECT * FROM v WHERE epoch IS NULL AND hold IS NULL UNION ALL SELECT * FROM f
    UNION ALL SELECT * FROM x UNION ALL SELECT * FROM b),
)";

// The logs, and those that the commits begin. The index over (log, prev) is the compare-and-swap, of a put's first
// commit, together with the function `follows`; the others follow it.
constexpr const char* stored_sql = R"(
o AS MATERIALIZED (SELECT p.*, l.log, l.status, l.since, l.due, l.summary, false AS is_new FROM p
    JOIN {S}.logs l ON l.thread = p.thread AND l.ns = p.ns WHERE p.ns = '' FOR NO KEY UPDATE OF l SKIP LOCKED),
k AS (INSERT INTO {S}.logs (thread, ns, status, since, due, summary)
    SELECT p.thread, p.ns, CASE WHEN p.ns = '' THEN p.is_status ELSE 0 END, CASE WHEN p.ns = '' THEN p.id END,
        CASE WHEN p.ns = '' THEN p.wakes END, CASE WHEN p.ns = '' THEN p.tells END FROM p
    WHERE p.expected = '00000000-0000-0000-0000-000000000000'
        AND NOT EXISTS (SELECT FROM {S}.logs l WHERE l.thread = p.thread AND l.ns = p.ns)
    ON CONFLICT DO NOTHING RETURNING log, thread, ns, status, since, due, summary),
t AS MATERIALIZED (SELECT * FROM o
    UNION ALL SELECT p.*, l.log, l.status, l.since, l.due, l.summary, false FROM p
        JOIN {S}.logs l ON l.thread = p.thread AND l.ns = p.ns WHERE p.ns <> ''
    UNION ALL SELECT p.*, k.log, k.status, k.since, k.due, k.summary, true FROM k
        JOIN p ON p.thread = k.thread AND p.ns = k.ns),
c AS (INSERT INTO {S}.commits (log, prev, id, parent, base, bytes)
    SELECT t.log, t.expected, ($15)[t.n], ($5)[t.n], ($6)[t.n], ($7)[t.n] FROM t
    WHERE t.is_new OR coalesce((SELECT c.id FROM {S}.commits c WHERE c.log = t.log AND c.prev < t.expected
        ORDER BY c.prev DESC LIMIT 1), '00000000-0000-0000-0000-000000000000') = t.expected
    ON CONFLICT DO NOTHING RETURNING log),
s AS MATERIALIZED (SELECT t.* FROM c JOIN t ON t.log = c.log),
q AS (INSERT INTO {S}.commits (log, prev, id, parent, base, bytes)
    SELECT s.log, r.prev, r.id, r.parent, r.base, r.bytes FROM unnest($16, $17, $18, $19, $20, $21)
        AS r (n, prev, id, parent, base, bytes) JOIN s ON s.n = r.n),
)";

// The inputs that the stored ones take, and the holds that they end, as the function put_work does it.
constexpr const char* taken_sql = R"(
y AS MATERIALIZED (SELECT s.thread, s.takes FROM s WHERE s.takes IS NOT NULL),
d AS (DELETE FROM {S}.inputs i USING y WHERE i.thread = y.thread AND i.seq = y.takes AND i.key IS NULL),
e AS (UPDATE {S}.inputs i SET taken = now(), input = NULL FROM y
    WHERE i.thread = y.thread AND i.seq = y.takes AND i.key IS NOT NULL),
w AS (UPDATE {S}.work w SET state = 1, inputs = w.inputs - 1 FROM y WHERE w.thread = y.thread),
z AS (DELETE FROM {S}.holds h USING s WHERE h.thread = s.thread AND h.epoch = s.hold AND s.ns = '' AND s.is_status = 1)
SELECT s.n, set_config('synchronous_commit', $8, true), {S}.follows(s.log, s.expected) FROM s)";

}  // namespace

std::string postgresJoinedSql() {
    const std::string index = postgresIndexUpdate("m s", "l.thread = s.thread AND l.ns = s.ns", "s", "s.id",
                                                  "s.is_status", "s.wakes", "s.second_ago", "s.tells");
    return std::string(permitted_sql) + stored_sql +
           "m AS MATERIALIZED (SELECT * FROM s WHERE s.ns = '' AND NOT s.is_new),\ni AS (" + index + "),\n" + taken_sql;
}

std::vector<Oid> postgresJoinedTypes() {
    return {bytea_array_type,  bytea_array_type,  uuid_array_type,   uuid_array_type,   uuid_array_type,
            uuid_array_type,   bytea_array_type,  text_type,         bigint_array_type, bigint_array_type,
            uuid_array_type,   bigint_array_type, bigint_array_type, bytea_array_type,  uuid_array_type,
            bigint_array_type, uuid_array_type,   uuid_array_type,   uuid_array_type,   uuid_array_type,
            bytea_array_type,  bigint_array_type};
}

}  // namespace stategraph::checkpoint
