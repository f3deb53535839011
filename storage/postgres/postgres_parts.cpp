#include "storage/postgres/postgres_parts.hpp"

#include <string>

#include "storage/postgres/postgres_setup.hpp"
#include "storage/postgres/postgres_tables.hpp"

namespace stategraph::checkpoint {

const PostgresPart postgres_store_part{.name = "store",
                                       .format = 1,
                                       .tables = R"(
CREATE TABLE {S}.store (
    head bytea NOT NULL, digest bytea NOT NULL, tail bytea NOT NULL, value bytea NOT NULL, PRIMARY KEY (head, digest));
)",
                                       .set_up = "PostgresStore::setUp"};

// `cache_set` returns whether the entry is kept. It returns null and does nothing if there is no room, which
// `cache_trim` makes. If one entry is set twice at the same time, the second call finds the first one's row and leaves
// it. Shares of the count are locked last, in the order of their numbers, and functions that remove many entries run
// one after the other, so that there is no cycle of waiting.
const PostgresPart postgres_cache_part{.name = "cache",
                                       .format = 1,
                                       .tables = R"(
CREATE UNLOGGED TABLE {S}.cache (
    ns bytea NOT NULL, key bytea NOT NULL, number bigint GENERATED ALWAYS AS IDENTITY, expires bigint NOT NULL,
    size bigint NOT NULL, value bytea NOT NULL, PRIMARY KEY (ns, key));
CREATE INDEX oldest_entries ON {S}.cache (number, size);
CREATE UNLOGGED TABLE {S}.cache_counts (share int PRIMARY KEY, bytes bigint NOT NULL);
CREATE FUNCTION {S}.cache_count(p_share int, p_bytes bigint) RETURNS void LANGUAGE sql AS $count$
    INSERT INTO {S}.cache_counts AS c VALUES (p_share, p_bytes)
        ON CONFLICT (share) DO UPDATE SET bytes = c.bytes + excluded.bytes
$count$;
CREATE FUNCTION {S}.cache_remove(p_ns bytea, p_key bytea, p_over bigint) RETURNS void LANGUAGE plpgsql AS $remove$
DECLARE
    freed bigint;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    DELETE FROM {S}.cache c WHERE c.ns = p_ns AND c.key = p_key
        AND (p_over IS NULL OR (c.expires <> 0 AND c.expires <= p_over)) RETURNING c.size INTO freed;
    IF FOUND THEN PERFORM {S}.cache_count(get_byte(p_key, 0) % 16, -freed); END IF;
END
$remove$;
CREATE FUNCTION {S}.cache_set(p_ns bytea, p_key bytea, p_expires bigint, p_size bigint, p_value bytea, p_most bigint)
    RETURNS boolean LANGUAGE plpgsql AS $set$
DECLARE
    freed bigint;
    added bigint;
    is_kept boolean;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    IF (SELECT coalesce(sum(bytes), 0) FROM {S}.cache_counts) + p_size -
        coalesce((SELECT c.size FROM {S}.cache c WHERE c.ns = p_ns AND c.key = p_key), 0) > p_most THEN
        RETURN NULL;
    END IF;
    DELETE FROM {S}.cache c WHERE c.ns = p_ns AND c.key = p_key RETURNING c.size INTO freed;
    INSERT INTO {S}.cache (ns, key, expires, size, value) VALUES (p_ns, p_key, p_expires, p_size, p_value)
        ON CONFLICT DO NOTHING RETURNING size INTO added;
    is_kept := FOUND;
    PERFORM {S}.cache_count(get_byte(p_key, 0) % 16, coalesce(added, 0) - coalesce(freed, 0));
    RETURN is_kept;
END
$set$;
CREATE FUNCTION {S}.cache_trim(p_left bigint) RETURNS void LANGUAGE plpgsql AS $trim$
DECLARE
    wanted bigint;
    last bigint;
    gone record;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM pg_advisory_xact_lock(hashtextextended($name${S}$name$, 9));
    SELECT sum(bytes) - p_left INTO wanted FROM {S}.cache_counts;
    IF coalesce(wanted, 0) <= 0 THEN RETURN; END IF;
    SELECT c.number INTO last FROM (SELECT number, sum(size) OVER (ORDER BY number) AS freed FROM {S}.cache) c
        WHERE c.freed >= wanted ORDER BY c.number LIMIT 1;
    FOR gone IN
        WITH d AS (DELETE FROM {S}.cache c WHERE last IS NULL OR c.number <= last RETURNING c.key, c.size)
        SELECT get_byte(d.key, 0) % 16 AS share, sum(d.size)::bigint AS bytes FROM d GROUP BY 1 ORDER BY 1
    LOOP
        PERFORM {S}.cache_count(gone.share, -gone.bytes);
    END LOOP;
END
$trim$;
CREATE FUNCTION {S}.cache_clear(p_ns bytea) RETURNS void LANGUAGE plpgsql AS $clear$
DECLARE
    gone record;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM pg_advisory_xact_lock(hashtextextended($name${S}$name$, 9));
    FOR gone IN
        WITH d AS (DELETE FROM {S}.cache c WHERE p_ns IS NULL OR c.ns = p_ns RETURNING c.key, c.size)
        SELECT get_byte(d.key, 0) % 16 AS share, sum(d.size)::bigint AS bytes FROM d GROUP BY 1 ORDER BY 1
    LOOP
        PERFORM {S}.cache_count(gone.share, -gone.bytes);
    END LOOP;
END
$clear$;
)",
                                       .set_up = "PostgresCache::setUp"};

namespace {

// Returns 0 if the schema does not have the part.
std::int64_t formatOf(PostgresConnection& connection, const PostgresPart& part) {
    const std::string& schema = connection.errors().schema();
    if (!hasPostgresTable(connection, "parts")) return 0;
    const PostgresResult rows =
        connection.command("SELECT version FROM " + quotedName(schema) + ".parts WHERE name = " + quotedText(part.name),
                           "read the version of its tables");
    const std::int64_t format = rows.rows() == 0 ? 0 : std::stoll(rows.copy(0, 0));
    if (format > part.format)
        connection.errors().failUnreadable("has a " + std::string(part.name) + " of version " + std::to_string(format) +
                                           ", newer than this library's " + std::to_string(part.format) +
                                           "; use a newer stategraph");
    return format;
}

}  // namespace

void checkPostgresPart(PostgresConnection& connection, const PostgresPart& part) {
    if (formatOf(connection, part) == part.format) return;
    connection.errors().refuseOpening("the schema has no tables of a " + std::string(part.name) + "; call " +
                                      part.set_up + ", or open it with set_up");
}

void setUpPostgresPart(PostgresConnection& connection, const PostgresPart& part) {
    if (formatOf(connection, part) == part.format) return;
    setUpPostgresSchema(connection, [&] {
        if (formatOf(connection, part) == part.format) return;
        const std::string sql =
            "CREATE TABLE IF NOT EXISTS {S}.parts (name text PRIMARY KEY, version bigint NOT NULL);" +
            std::string(part.tables) + "INSERT INTO {S}.parts VALUES (" + quotedText(part.name) + ", " +
            std::to_string(part.format) + ");";
        (void)connection.command(inSchema(sql, quotedName(connection.errors().schema())), "set it up");
    });
}

}  // namespace stategraph::checkpoint
