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
