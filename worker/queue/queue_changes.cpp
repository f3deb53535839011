#include "worker/queue/queue_changes.hpp"

#include "storage/postgres/postgres_values.hpp"
#include "worker/queue/queue_standing.hpp"

// Each change is one statement, for one thread or for all that fit a query: it locks their rows in the order of names,
// and decides by the locked row.
namespace stategraph::queue {
namespace {

/// What a change does to a row `w` that fits `which`.
struct ChangeParts {
    const char* which;
    const char* set;
};

ChangeParts partsOf(QueueChange change) {
    switch (change) {
        // It is woken: workers do not resume a fork or an edit by themselves, and one of these may have mended the
        // thread.
        case QueueChange::retry:
            return {"w.is_aside", "is_aside = false, is_woken = true, attempts = 0, due = now(), refused = '{}'"};
        case QueueChange::cancel:
            return {"true",
                    "is_cancelled = true, is_aside = false, inputs = w.inputs - coalesce(n.dropped, 0), "
                    "due = CASE WHEN w.epoch = 0 THEN now() ELSE w.due END"};
        // The worker that has it finds out when it next renews its leases, or stores something.
        case QueueChange::release:
            return {"w.epoch <> 0", "epoch = 0, worker = NULL, due = now(), since = now()"};
        case QueueChange::set_aside:
            break;
    }
    return {"NOT w.is_aside",
            "epoch = 0, worker = NULL, due = NULL, is_aside = true, since = now(), error = nullif({reason}, '')"};
}

// The parameters of changeAllTypes.
std::string queryPart() {
    return std::string(
               "($1 = '' OR CASE WHEN right($1, 1) = '*' THEN starts_with(w.queue, left($1, -1)) ELSE w.queue = $1 "
               "END) "
               "AND ($2 = '' OR w.graph = $2) AND ($3 = '' OR w.worker = $3) AND ($5 = '' OR strpos(w.error, $5) > 0) "
               "AND ($6 = '' OR w.metadata @> nullif($6, '')::jsonb) AND ($7 = 0 OR w.since >= to_timestamp($7 / "
               "1000.0)) AND ($8 = 0 OR w.since <= to_timestamp($8 / 1000.0)) "
               "AND substr(w.thread, 1, length($9)) = $9 AND ($4 < 0 OR ") +
           standing_sql + " = $4)";
}

// A thread that is cancelled already is not counted again, so that a repeated call ends.
std::string whichOfAll(QueueChange change) {
    return queryPart() + " AND " + (change == QueueChange::cancel ? "NOT w.is_cancelled" : partsOf(change).which);
}

std::string withReason(std::string text, const char* reason) {
    constexpr const char* place = "{reason}";
    if (const std::size_t at = text.find(place); at != std::string::npos)
        text.replace(at, std::string(place).size(), reason);
    return text;
}

// `rows` selects from `w` without a lock; `first` begins the statement.
std::string changing(QueueChange change, const std::string& first, const std::string& rows, const char* reason) {
    const bool drops_inputs = change == QueueChange::cancel;
    return first + "k AS MATERIALIZED (" + rows + " FOR NO KEY UPDATE OF w), " +
           (drops_inputs ? "i AS (DELETE FROM {S}.inputs i USING k WHERE i.thread = k.thread AND i.taken IS NULL "
                           "RETURNING i.thread), n AS MATERIALIZED (SELECT i.thread, count(*)::int AS dropped FROM i "
                           "GROUP BY i.thread), "
                         : "") +
           "p AS (UPDATE {S}.work w SET " + withReason(partsOf(change).set, reason) + " FROM k" +
           (drops_inputs ? " LEFT JOIN n ON n.thread = k.thread" : "") +
           " WHERE w.thread = k.thread) SELECT count(*), set_config('synchronous_commit', 'on', true) FROM k";
}

}  // namespace

std::string changeSql(QueueChange change) {
    return changing(change, "WITH ",
                    std::string("SELECT w.thread FROM {S}.work w WHERE w.thread = $1 AND ") + partsOf(change).which,
                    "$2::text");
}

std::string changeAllSql(QueueChange change) {
    return changing(change, std::string(alive_sql) + ", ",
                    "SELECT w.thread FROM {S}.work w WHERE " + whichOfAll(change) + " ORDER BY w.thread LIMIT $11",
                    "$10::text");
}

std::string previewSql(QueueChange change) {
    return std::string(alive_sql) + "SELECT count(*) OVER (), w.thread FROM {S}.work w WHERE " + whichOfAll(change) +
           " ORDER BY w.thread LIMIT $11";
}

std::vector<Oid> changeAllTypes() {
    using namespace checkpoint;
    return {text_type,   text_type,   text_type,  bigint_type, text_type,  text_type,
            bigint_type, bigint_type, bytea_type, text_type,   bigint_type};
}

}  // namespace stategraph::queue
