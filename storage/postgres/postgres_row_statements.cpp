#include "storage/postgres/postgres_row_statements.hpp"

#include <utility>
#include <vector>

#include "storage/postgres/postgres_tables.hpp"

namespace stategraph::checkpoint {
namespace {

// The most bytes of a page of rows, except that it may contain one value more.
constexpr std::size_t page_bytes = std::size_t{4} << 20U;

std::string digestOf(const std::string& tail) {
    return "(CASE WHEN " + tail + " = ''::bytea THEN ''::bytea ELSE sha256(" + tail + ") END)";
}

// Returns the value of a row, or null if the rows before it fill a page. PostgreSQL knows a value's size without
// reading it.
std::string pagedValue(const std::string& order) {
    return "CASE WHEN coalesce(sum(octet_length(s.value)) OVER (ORDER BY " + order +
           " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) < " + std::to_string(page_bytes) +
           " THEN s.value END";
}

}  // namespace

PostgresRowStatements::PostgresRowStatements(const std::string& schema) {
    const std::string quoted = quotedName(schema);
    const auto statement = [&](const char* name, const std::string& sql, std::vector<Oid> types = {}) {
        return PostgresStatement{name, inSchema(sql, quoted), std::move(types)};
    };
    const std::vector<Oid> keys{bytea_array_type, bytea_array_type};
    const std::string is_key = "s.head = k.head AND s.digest = " + digestOf("k.tail");
    begin_reading = statement("begin_reading", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    // Each statement of the transaction sees what was stored before that statement began. So the read sees everything
    // for which the locks have waited.
    begin_writing = statement("begin_writing", "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
    commit = statement("commit", "COMMIT");
    get = statement("get_row", "SELECT s.value FROM {S}.store s WHERE s.head = $1 AND s.digest = " + digestOf("$2"),
                    {bytea_type, bytea_type});
    page = statement("page_of_rows",
                     "SELECT s.head || s.tail, " + pagedValue("s.head, s.tail") +
                         " FROM (SELECT s.head, s.tail, s.value FROM {S}.store s WHERE s.head >= $1 AND s.head <= $3 "
                         "AND (s.head, s.tail) >= ($1, $2) AND (s.head, s.tail) < ($3, $4) "
                         "ORDER BY s.head, s.tail LIMIT $5) s ORDER BY s.head, s.tail",
                     {bytea_type, bytea_type, bytea_type, bytea_type, bigint_type});
    lock = statement("lock_rows", "SELECT pg_advisory_xact_lock(k) FROM unnest($1) k", {bigint_array_type});
    transaction = statement("begun_transaction",
                            "SELECT txid_current(), set_config('synchronous_commit', $1, true), "
                            "set_config('idle_in_transaction_session_timeout', $2, true)",
                            {text_type, text_type});
    read = statement("read_rows",
                     "SELECT k.head || k.tail, " + pagedValue("k.n") +
                         " FROM unnest($1, $2) WITH ORDINALITY AS k(head, tail, n) JOIN {S}.store s ON " + is_key,
                     keys);
    put = statement("put_rows",
                    "INSERT INTO {S}.store AS s (head, digest, tail, value) SELECT k.head, " + digestOf("k.tail") +
                        ", k.tail, k.value FROM unnest($1, $2, $3) AS k(head, tail, value) "
                        "ON CONFLICT (head, digest) DO UPDATE SET value = excluded.value",
                    {bytea_array_type, bytea_array_type, bytea_array_type});
    remove =
        statement("remove_rows", "DELETE FROM {S}.store s USING unnest($1, $2) AS k(head, tail) WHERE " + is_key, keys);
    status = statement("transaction_status", "SELECT txid_status($1)", {bigint_type});
}

void rollBackPostgres(PostgresConnection& connection) noexcept {
    try {
        (void)connection.command("ROLLBACK", "end a transaction");
    } catch (...) {  // then the connection is closed, which ends the transaction
    }
}

}  // namespace stategraph::checkpoint
