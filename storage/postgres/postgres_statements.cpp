#include "storage/postgres/postgres_statements.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "storage/postgres/postgres_index.hpp"
#include "storage/postgres/postgres_joined_statement.hpp"
#include "storage/postgres/postgres_tables.hpp"
#include "storage/saver/branch_walk.hpp"

namespace stategraph::checkpoint {
namespace {

constexpr Oid bytes_t = bytea_type;
constexpr Oid id_type = uuid_type;
constexpr Oid number_t = bigint_type;

// Stores one commit after the head; the unique index over (log, prev) is the compare-and-swap, and the function
// `follows` refuses what a prune has made of it. The row of a thread's own log is locked first, as by other puts that
// say what the thread waits for, so that the second put sees what the first one has stored.
//
// Under a lease or a hold, the row that has its epoch is locked before that, so that it stays valid until the put has
// ended; if there is no such row, nothing is stored. A commit after which nothing is due ends the hold. The statement
// waits for no lock of these rows or the log's: a put that meets one is made alone.
enum class Right : std::uint8_t { none, lease, hold };

std::string appendSql(bool is_own, Right right) {
    const bool has_right = right != Right::none;
    std::string sql = "WITH ";
    if (has_right) {
        sql += std::string("f AS MATERIALIZED (SELECT FROM {S}.") + (right == Right::lease ? "work" : "holds") +
               " WHERE thread = $1 AND epoch = ";
        sql += std::string(is_own ? "$13" : "$9") + " FOR KEY SHARE SKIP LOCKED),\n";
    }
    sql += "o AS MATERIALIZED (SELECT l.log, l.status, l.since, l.due, l.summary FROM ";
    if (has_right) sql += "f, ";
    sql += "{S}.logs l WHERE l.thread = $1 AND l.ns = $2";
    if (is_own) sql += " FOR NO KEY UPDATE OF l SKIP LOCKED";
    sql += R"(),
c AS (INSERT INTO {S}.commits (log, prev, id, parent, base, bytes)
    SELECT o.log, $3, $4, $5, $6, $7 FROM o WHERE
        (SELECT c.id FROM {S}.commits c WHERE c.log = o.log AND c.prev < $3 ORDER BY c.prev DESC LIMIT 1) = $3
    ON CONFLICT DO NOTHING RETURNING log, prev))";
    if (is_own)
        sql += ", i AS (" +
               postgresIndexUpdate("c, o", "l.thread = $1 AND l.ns = $2", "o", "$4", "$9", "$10", "$11", "$12") + ")";
    if (is_own && right == Right::hold)
        sql += ", z AS (DELETE FROM {S}.holds h USING c WHERE $9 = 1 AND h.thread = $1 AND h.epoch = $13)";
    return sql + " SELECT set_config('synchronous_commit', $8, true), {S}.follows(c.log, c.prev) FROM c";
}

// If many commits of other branches may be between a checkpoint and its base, the query walks from parent to parent.
std::string tupleSql(std::string_view before, std::string_view is_it) {
    const std::string most = std::to_string(unseen_rows_max);
    return R"(
WITH RECURSIVE
l AS MATERIALIZED (SELECT log FROM {S}.logs WHERE thread = $1 AND ns = $2),
h AS MATERIALIZED (SELECT c.id FROM l, LATERAL
    (SELECT c.id FROM {S}.commits c WHERE c.log = l.log ORDER BY c.prev DESC LIMIT 1) c),
t AS MATERIALIZED (SELECT c.* FROM l, LATERAL
    (SELECT c.id, c.prev, c.parent, c.base FROM {S}.commits c WHERE c.log = l.log AND )" +
           std::string(before) + " ORDER BY c.prev DESC LIMIT 1) c WHERE " + std::string(is_it) + R"(),
f AS MATERIALIZED (SELECT c.prev FROM l, t, LATERAL
    (SELECT c.prev FROM {S}.commits c WHERE c.log = l.log AND c.prev < t.base ORDER BY c.prev DESC LIMIT 1) c),
n AS MATERIALIZED (SELECT count(*) AS rows FROM (SELECT 1 FROM l, t, f, {S}.commits c
    WHERE c.log = l.log AND c.prev >= f.prev AND c.prev <= t.prev LIMIT )" +
           most + R"( + 1) x),
w AS (
    SELECT t.id, t.prev, t.parent, t.base FROM t, n WHERE n.rows > )" +
           most + R"(
    UNION ALL
    SELECT c.id, c.prev, c.parent, c.base FROM w, l, t, LATERAL
        (SELECT c.id, c.prev, c.parent, c.base FROM {S}.commits c WHERE c.log = l.log AND c.prev < w.parent
            ORDER BY c.prev DESC LIMIT 1) c
        WHERE w.id > t.base AND w.base <> w.id AND w.parent < w.id AND c.id = w.parent)
SELECT 0::bigint, t.id, NULL::bytea, NULL::bytea, h.id FROM t, h
UNION ALL (SELECT 1, c.id, NULL, c.bytes, NULL FROM n, l, t, f, {S}.commits c
    WHERE n.rows <= )" +
           most + R"( AND c.log = l.log AND c.prev >= f.prev AND c.prev <= t.prev)
UNION ALL (SELECT 1, c.id, NULL, c.bytes, NULL FROM w, l, {S}.commits c WHERE c.log = l.log AND c.prev = w.prev)
UNION ALL (SELECT 2, c.id, NULL, c.bytes, NULL FROM l, t, {S}.commits c WHERE c.log = l.log AND c.prev = t.id)
UNION ALL (SELECT 3, p.id, p.path, p.bytes, NULL FROM l, t, {S}.writes p WHERE p.log = l.log AND p.id = t.id))";
}

// Returns the first threads of each status, which include the first of all.
std::string threadsSql(std::string_view which, std::string_view order) {
    const std::string by(order);
    return "SELECT s.status, l.since, l.thread, l.due, l.summary FROM unnest($1) AS s (status), LATERAL (SELECT "
           "g.since, g.thread, g.due, CASE WHEN $3 THEN g.summary END AS summary FROM {S}.logs g WHERE g.since IS NOT "
           "NULL AND g.status = s.status AND " +
           std::string(which) + " ORDER BY " + by + " LIMIT $2) l ORDER BY " + by + " LIMIT $2";
}
constexpr const char* newest_first = "since DESC, thread DESC";

constexpr const char* due_threads_sql =
    "SELECT due, thread FROM {S}.logs WHERE due IS NOT NULL AND due <= $1 AND (due, thread) > ($2, $3) ORDER BY due, "
    "thread LIMIT $4";

std::string countThreadsSql() {
    return "SELECT s.status, (SELECT count(*) FROM (SELECT 1 FROM {S}.logs g WHERE g.since IS NOT NULL AND g.status = "
           "s.status LIMIT $1) x) FROM generate_series(0::bigint, " +
           std::to_string(indexed_statuses.size() - 1) + ") AS s (status)";
}

constexpr const char* put_sql =
    "SELECT status::bigint, which, place::bigint FROM "
    "{S}.put($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23)";

constexpr const char* put_work_sql =
    "SELECT status::bigint, which, place::bigint FROM "
    "{S}.put_work($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,$24,$25,$26,$27)";

constexpr const char* has_lease_sql = "SELECT EXISTS (SELECT FROM {S}.work WHERE thread = $1 AND epoch = $2)";
constexpr const char* has_hold_sql = "SELECT EXISTS (SELECT FROM {S}.holds WHERE thread = $1 AND epoch = $2)";

constexpr const char* head_sql =
    "SELECT c.id FROM {S}.logs l, LATERAL (SELECT c.id FROM {S}.commits c WHERE c.log = l.log ORDER BY c.prev DESC "
    "LIMIT 1) c WHERE l.thread = $1 AND l.ns = $2";

constexpr const char* has_commit_sql =
    "SELECT EXISTS (SELECT FROM {S}.logs l, LATERAL (SELECT c.id FROM {S}.commits c WHERE c.log = l.log AND c.prev < "
    "$3 "
    "ORDER BY c.prev DESC LIMIT 1) c WHERE l.thread = $1 AND l.ns = $2 AND c.id = $3)";

constexpr const char* has_writes_sql =
    "SELECT NOT EXISTS (SELECT FROM unnest($3, $4, $5) AS u (id, path, bytes) WHERE NOT EXISTS (SELECT FROM {S}.logs l "
    "JOIN {S}.writes w USING (log) WHERE l.thread = $1 AND l.ns = $2 AND w.id = u.id AND w.path = u.path AND "
    "w.bytes = u.bytes))";

// Deletes the thread together with its place in the queue, whose row is locked first. Under a lease, it deletes only if
// the lease is the thread's, as the first column says.
std::string deleteThreadSql(bool is_leased) {
    return std::string("WITH k AS MATERIALIZED (SELECT FROM {S}.work WHERE thread = $1") +
           (is_leased ? " AND epoch = $2" : "") +
           " FOR UPDATE), n AS MATERIALIZED (SELECT count(*) AS held FROM k), "
           "d AS (DELETE FROM {S}.logs USING n WHERE thread = $1" +
           (is_leased ? " AND n.held > 0" : " AND n.held >= 0") +
           " RETURNING log), "
           "i AS (DELETE FROM {S}.inputs USING n WHERE thread = $1" +
           (is_leased ? " AND n.held > 0" : "") +
           "), w AS (DELETE FROM {S}.work USING n WHERE thread = $1 AND n.held > 0), "
           "q AS (INSERT INTO {S}.dead_logs (log) SELECT log FROM d) "
           "SELECT n.held > 0, d.log, set_config('synchronous_commit', 'on', true) FROM n LEFT JOIN d ON true";
}

// Also what a put that the deletion waited for has stored below the thread that is gone.
constexpr const char* delete_rows_sql =
    "WITH d AS (DELETE FROM {S}.logs l WHERE l.thread = $2 AND NOT EXISTS (SELECT FROM {S}.logs r WHERE r.thread = $2 "
    "AND r.ns = '') RETURNING log), q AS (INSERT INTO {S}.dead_logs (log) SELECT log FROM d), "
    "w AS (DELETE FROM {S}.writes WHERE log = ANY ($1)) DELETE FROM {S}.commits WHERE log = ANY ($1)";

constexpr const char* copy_thread_sql = R"(
WITH t AS MATERIALIZED (SELECT EXISTS (SELECT FROM {S}.logs WHERE thread = $2) AS is_taken),
n AS (INSERT INTO {S}.logs (thread, ns, status, since, due, summary)
    SELECT $2, o.ns, o.status, o.since, o.due, o.summary FROM t, {S}.logs o WHERE NOT t.is_taken AND o.thread = $1
    RETURNING log, ns),
m AS MATERIALIZED (SELECT o.log AS old, n.log AS new FROM n JOIN {S}.logs o ON o.thread = $1 AND o.ns = n.ns),
c AS (INSERT INTO {S}.commits (log, prev, id, parent, base, bytes)
    SELECT m.new, c.prev, c.id, c.parent, c.base, c.bytes FROM m JOIN {S}.commits c ON c.log = m.old),
w AS (INSERT INTO {S}.writes (log, id, path, bytes)
    SELECT m.new, w.id, w.path, w.bytes FROM m JOIN {S}.writes w ON w.log = m.old)
SELECT is_taken, set_config('synchronous_commit', 'on', true) FROM t)";

constexpr const char* is_copy_sql = R"(
WITH h AS MATERIALIZED (SELECT l.thread, l.ns, (SELECT c.id FROM {S}.commits c WHERE c.log = l.log
    ORDER BY c.prev DESC LIMIT 1) AS id FROM {S}.logs l WHERE l.thread = $1 OR l.thread = $2)
SELECT NOT EXISTS ((SELECT ns, id FROM h WHERE thread = $1) EXCEPT (SELECT ns, id FROM h WHERE thread = $2)))";

// A prune that drops a whole log inserts a row after its head. Of two writers that see the same head, only one
// succeeds.
std::string dropLogSql() {
    return std::string(
               "WITH k AS MATERIALIZED (SELECT log FROM {S}.logs WHERE thread = $3 AND ns = $4 AND log = $1 "
               "FOR UPDATE), d AS (INSERT INTO {S}.commits (log, prev, id, parent, base, bytes) "
               "SELECT k.log, $2, ") +
           postgres_tombstone + ", " + postgres_tombstone + ", " + postgres_tombstone +
           ", '' FROM k ON CONFLICT DO NOTHING RETURNING log), "
           "l AS (DELETE FROM {S}.logs USING d WHERE thread = $3 AND ns = $4 AND logs.log = d.log), "
           "q AS (INSERT INTO {S}.dead_logs (log) SELECT log FROM d), "
           "w AS (DELETE FROM {S}.writes USING d WHERE writes.log = d.log), "
           "c AS (DELETE FROM {S}.commits USING d WHERE commits.log = d.log) SELECT 1 FROM d";
}

// Removes some rows of the log that was deleted first, so that the statement ends in time however large the log is.
// Removes the log's number once it has no rows.
std::string sweepSql() {
    const auto some = [](const char* table) {
        return std::string("(DELETE FROM {S}.") + table + " WHERE ctid = ANY (ARRAY(SELECT t.ctid FROM {S}." + table +
               " t JOIN o USING (log) LIMIT 2000)) RETURNING 1)";
    };
    return std::string("WITH o AS MATERIALIZED (SELECT since, log FROM {S}.dead_logs WHERE since < now() - ") +
           postgres_grace + " ORDER BY since, log LIMIT 1 FOR UPDATE SKIP LOCKED), w AS " + some("writes") + ", c AS " +
           some("commits") +
           ", d AS (DELETE FROM {S}.dead_logs USING o WHERE dead_logs.since = o.since AND dead_logs.log = o.log AND "
           "NOT EXISTS (SELECT FROM w) AND NOT EXISTS (SELECT FROM c)) SELECT log FROM o";
}

}  // namespace

// This is one table of statements with the types of their parameters, which makes it longer than other functions.
PostgresStatements::PostgresStatements(const std::string& schema) {
    const std::string quoted = quotedName(schema);
    const auto make = [&](const char* name, std::string_view sql, std::vector<Oid> types) {
        return PostgresStatement{name, inSchema(sql, quoted), std::move(types)};
    };
    std::vector<Oid> types{bytes_t, bytes_t, id_type, id_type, id_type, id_type, bytes_t, text_type};
    const auto makeAppends = [&](const std::string& name, bool is_own) {
        const auto one = [&](const char* suffix, Right right) {
            std::vector<Oid> all = types;
            if (right != Right::none) all.push_back(number_t);
            return make((name + suffix).c_str(), appendSql(is_own, right), std::move(all));
        };
        return PostgresAppends{one("", Right::none), one("_leased", Right::lease), one("_held", Right::hold)};
    };
    append_inner = makeAppends("append_inner", false);
    types.insert(types.end(), {number_t, number_t, id_type, bytes_t});
    append = makeAppends("append", true);
    joined = make("joined", postgresJoinedSql(), postgresJoinedTypes());
    put = make("put", put_sql, {bytes_t,          bytes_t,          id_type,         uuid_array_type,  uuid_array_type,
                                uuid_array_type,  bytea_array_type, uuid_array_type, bool_type,        uuid_array_type,
                                bytea_array_type, bytea_array_type, bool_array_type, bytea_array_type, uuid_array_type,
                                bytea_array_type, bytea_array_type, number_t,        number_t,         id_type,
                                bytes_t,          text_type,        id_type});
    put_work = make("put_work", put_work_sql, put.types);
    put_work.types.insert(put_work.types.end(), {number_t, number_t, number_t, bool_type});
    has_lease = make("has_lease", has_lease_sql, {bytes_t, number_t});
    has_hold = make("has_hold", has_hold_sql, {bytes_t, number_t});
    head = make("head", head_sql, {bytes_t, bytes_t});
    has_commit = make("has_commit", has_commit_sql, {bytes_t, bytes_t, id_type});
    has_writes =
        make("has_writes", has_writes_sql, {bytes_t, bytes_t, uuid_array_type, bytea_array_type, bytea_array_type});
    newest_tuple = make("newest_tuple", tupleSql("true", "true"), {bytes_t, bytes_t});
    tuple = make("tuple", tupleSql("c.prev < $3", "c.id = $3"), {bytes_t, bytes_t, id_type});
    tuple_before = make("tuple_before", tupleSql("c.prev < $3 AND c.id < $3", "true"), {bytes_t, bytes_t, id_type});

    open_threads =
        make("open_threads", threadsSql("g.status <> 1", "thread"), {bigint_array_type, number_t, bool_type});
    open_threads_after = make("open_threads_after", threadsSql("g.status <> 1 AND g.thread > $4", "thread"),
                              {bigint_array_type, number_t, bool_type, bytes_t});
    newest_threads = make("newest_threads", threadsSql("true", newest_first), {bigint_array_type, number_t, bool_type});
    newest_threads_before = make("newest_threads_before", threadsSql("(g.since, g.thread) < ($4, $5)", newest_first),
                                 {bigint_array_type, number_t, bool_type, id_type, bytes_t});
    due_threads = make("due_threads", due_threads_sql, {number_t, number_t, bytes_t, number_t});
    count_threads = make("count_threads", countThreadsSql(), {number_t});

    delete_thread = make("delete_thread", deleteThreadSql(false), {bytes_t});
    delete_thread_leased = make("delete_thread_leased", deleteThreadSql(true), {bytes_t, number_t});
    delete_rows = make("delete_rows", delete_rows_sql, {bigint_array_type, bytes_t});
    sweep = make("sweep", sweepSql(), {});
    copy_thread = make("copy_thread", copy_thread_sql, {bytes_t, bytes_t});
    is_copy = make("is_copy", is_copy_sql, {bytes_t, bytes_t});
    put_graph = make("put_graph",
                     "INSERT INTO {S}.graphs AS g (fingerprint, bytes) SELECT $1, $2 WHERE NOT EXISTS "
                     "(SELECT FROM {S}.graphs WHERE fingerprint = $1 AND bytes = $2) "
                     "ON CONFLICT (fingerprint) DO UPDATE SET bytes = excluded.bytes",
                     {id_type, bytes_t});
    get_graph = make("get_graph", "SELECT bytes FROM {S}.graphs WHERE fingerprint = $1", {id_type});
    std::string sizes;
    for (const char* table : {"logs", "commits", "writes", "dead_logs", "graphs"}) {
        if (!sizes.empty()) sizes += " + ";
        sizes += "pg_total_relation_size(" + quotedTableText(quoted, table) + "::regclass)";
    }
    stored_bytes = PostgresStatement{"stored_bytes", "SELECT " + sizes, {}};

    thread_names = make("thread_names",
                        "SELECT DISTINCT thread FROM {S}.logs WHERE ($1 IS NULL OR thread > $1) ORDER BY thread LIMIT "
                        "$2",
                        {bytes_t, number_t});
    // A thread whose row has none of these waits for an answer.
    is_queued = make("is_queued",
                     "SELECT EXISTS (SELECT FROM {S}.work WHERE thread = $1 AND (due IS NOT NULL OR inputs > 0 OR "
                     "is_aside))",
                     {bytes_t});
    lock_thread =
        make("lock_thread", "SELECT pg_advisory_xact_lock(hashtextextended(encode($1, 'hex'), 7))", {bytes_t});
    thread_rows = make(
        "thread_rows",
        "SELECT x.log, x.ns, x.kind, x.id, x.path, x.bytes FROM (SELECT l.log, l.ns, 0::bigint AS kind, c.id, "
        "NULL::bytea AS path, c.bytes FROM {S}.logs l JOIN {S}.commits c USING (log) WHERE l.thread = $1 UNION ALL "
        "SELECT l.log, l.ns, 1, w.id, w.path, w.bytes FROM {S}.logs l JOIN {S}.writes w USING (log) WHERE "
        "l.thread = $1) x ORDER BY x.ns, x.kind, x.id, x.path",
        {bytes_t});
    commit = make("commit",
                  "SELECT c.bytes FROM {S}.commits c WHERE c.log = $1 AND c.id = $2 AND c.prev = (SELECT p.prev FROM "
                  "{S}.commits p WHERE p.log = $1 AND p.prev < $2 ORDER BY p.prev DESC LIMIT 1)",
                  {number_t, id_type});
    drop_log = make("drop_log", dropLogSql(), {number_t, id_type, bytes_t, bytes_t});
    bar_head = make("bar_head",
                    std::string("WITH k AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended(encode($3, "
                                "'hex'), 8))) INSERT INTO {S}.commits (log, prev, id, parent, base, bytes) SELECT $1, "
                                "$2, ") +
                        postgres_tombstone + ", " + postgres_tombstone + ", " + postgres_tombstone +
                        ", '' FROM k ON CONFLICT DO NOTHING RETURNING 1",
                    {number_t, id_type, bytes_t});
    drop_commits = make("drop_commits",
                        "WITH w AS (DELETE FROM {S}.writes WHERE log = $1 AND id = ANY ($2)) "
                        "DELETE FROM {S}.commits WHERE log = $1 AND id = ANY ($2)",
                        {number_t, uuid_array_type});
    close_chain = make("close_chain",
                       "UPDATE {S}.commits c SET prev = u.new FROM unnest($2, $3) AS u (old, new) "
                       "WHERE c.log = $1 AND c.prev = u.old",
                       {number_t, uuid_array_type, uuid_array_type});
    rewrite_commits = make("rewrite_commits",
                           "UPDATE {S}.commits c SET bytes = u.bytes, base = u.id FROM unnest($2, $3, $4) AS u (prev, "
                           "id, bytes) WHERE c.log = $1 AND c.prev = u.prev AND c.id = u.id",
                           {number_t, uuid_array_type, uuid_array_type, bytea_array_type});
}

PostgresStatement postgresList(const ListQuery& query, const std::string& quoted_schema) {
    PostgresStatement statement{.name = "list", .sql = {}, .types = {}};
    const auto parameter = [&](const char* mark, Oid type) {
        statement.name += mark;
        statement.types.push_back(type);
        return "$" + std::to_string(statement.types.size());
    };
    std::string from = "{S}.logs l";
    std::string order = "l.thread, l.ns";
    std::string which = "true";
    if (query.thread_id) {
        which += " AND l.thread = " + parameter("_thread", bytes_t);
    } else if (!query.thread_ids.empty()) {
        from = "unnest(" + parameter("_threads", bytea_array_type) +
               ") WITH ORDINALITY AS t (thread, place) JOIN {S}.logs l ON l.thread = t.thread";
        order = "t.place, l.ns";
    }
    if (query.checkpoint_ns) which += " AND l.ns = " + parameter("_ns", bytes_t);
    if (query.after_thread_id && query.thread_ids.empty()) which += " AND l.thread > " + parameter("_after", bytes_t);
    std::string before = "true";
    if (!query.before.empty()) {
        const std::string id = parameter("_before", id_type);
        before = "c.prev < " + id + " AND c.id < " + id;
    }
    const std::string limit = query.limit ? " LIMIT " + parameter("_limit", number_t) : "";
    if (query.heads) statement.name += "_heads";
    const std::string each = "SELECT l.log, l.thread, l.ns, c.id, c.bytes FROM " + from +
                             ", LATERAL (SELECT c.id, c.bytes FROM {S}.commits c WHERE c.log = l.log AND " + before +
                             " ORDER BY c.prev DESC" + (query.heads ? " LIMIT 1" : limit) + ") c WHERE " + which +
                             " ORDER BY " + order + (query.heads ? "" : ", c.id DESC") + limit;
    if (!query.with_writes) {
        statement.sql =
            inSchema("SELECT row_number() OVER () AS n, thread, ns, id, bytes, NULL::bytea FROM (" + each + ") x",
                     quoted_schema);
        return statement;
    }
    statement.name += "_writes";
    statement.sql = inSchema("WITH x AS MATERIALIZED (SELECT row_number() OVER () AS n, y.* FROM (" + each +
                                 ") y) SELECT n, thread, ns, id, bytes, NULL::bytea FROM x UNION ALL "
                                 "SELECT n, NULL, NULL, NULL, w.bytes, w.path FROM x JOIN {S}.writes w ON "
                                 "w.log = x.log AND w.id = x.id ORDER BY 1, 6 NULLS FIRST",
                             quoted_schema);
    return statement;
}

}  // namespace stategraph::checkpoint
