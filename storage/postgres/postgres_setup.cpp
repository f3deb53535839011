#include "storage/postgres/postgres_setup.hpp"

#include <string>

#include "storage/postgres/postgres_hold_tables.hpp"
#include "storage/postgres/postgres_impl.hpp"
#include "storage/postgres/postgres_work_tables.hpp"

// Creates the tables. This is separate from opening them, because it needs other permissions, and is done once.
namespace stategraph {
namespace checkpoint {
namespace {

// A set-up waits for one that is under way, because two that create a schema at the same time fail. The number is
// arbitrary; no other program may lock it.
constexpr const char* lock_setup = "SELECT pg_advisory_xact_lock(8316266980291109)";

// 0: the schema has no tables.
std::int64_t formatOf(PostgresConnection& connection) {
    if (!hasPostgresTable(connection, "format")) return 0;
    const auto rows = connection.command("SELECT version FROM " + quotedName(connection.errors().schema()) + ".format",
                                         "read the version of its tables");
    if (rows.rows() != 1)
        connection.errors().failUnreadable("is damaged: its table format has " + std::to_string(rows.rows()) +
                                           " rows and not one; restore it from a backup");
    return std::stoll(rows.copy(0, 0));
}

void checkNotNewer(PostgresConnection& connection, std::int64_t format) {
    if (format > postgres_format)
        connection.errors().failUnreadable("has tables of version " + std::to_string(format) +
                                           ", newer than this library's " + std::to_string(postgres_format) +
                                           "; use a newer stategraph");
}

std::string allTables() {
    return std::string(postgres_tables) + postgres_work_tables + postgres_holds_table +
           "CREATE TABLE {S}.format (version bigint NOT NULL); INSERT INTO {S}.format VALUES (" +
           std::to_string(postgres_format) + ");" + postgresFollowsFunction() + postgresPutFunction() +
           postgresWorkPutFunction() + postgresSubmitFunction() + postgresRoomFunction() + postgresHoldFunctions();
}

bool hasSchema(PostgresConnection& connection) {
    const std::string& name = connection.errors().schema();
    const PostgresStatement find{
        "find_schema", "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", {text_type}};
    return connection.run(find, PostgresParameters().text(name), "look for its schema").flag(0, 0);
}

}  // namespace

bool hasPostgresTable(PostgresConnection& connection, std::string_view table) {
    const PostgresStatement find{"find_table",
                                 "SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                                 "WHERE n.nspname = $1 AND c.relname = $2)",
                                 {text_type, text_type}};
    const std::string& schema = connection.errors().schema();
    return connection.run(find, PostgresParameters().text(schema).text(table), "look for its tables").flag(0, 0);
}

void setUpPostgresSchema(PostgresConnection& connection, const std::function<void()>& make) {
    constexpr const char* work = "set it up";
    (void)connection.command("BEGIN", work);
    try {
        (void)connection.command(lock_setup, work);
        // If the schema exists, the permission to create one is not needed.
        if (!hasSchema(connection))
            (void)connection.command("CREATE SCHEMA " + quotedName(connection.errors().schema()), work);
        make();
        (void)connection.command("COMMIT", work);
    } catch (const PostgresLost&) {
        throw;
    } catch (const Error&) {
        (void)connection.command("ROLLBACK", work);
        throw;
    }
}

void checkPostgresFormat(PostgresConnection& connection) {
    const std::int64_t format = formatOf(connection);
    checkNotNewer(connection, format);
    if (format == 0)
        connection.errors().refuseOpening(
            "the schema has no tables of stategraph's; call PostgresSaver::setUp, or open it with set_up");
}

void setUpPostgres(PostgresConnection& connection) {
    const std::int64_t found = formatOf(connection);
    checkNotNewer(connection, found);
    if (found != 0) return;
    setUpPostgresSchema(connection, [&] {
        const std::int64_t format = formatOf(connection);
        checkNotNewer(connection, format);
        const std::string schema = quotedName(connection.errors().schema());
        if (format == 0) (void)connection.command(inSchema(allTables(), schema), "set it up");
    });
}

}  // namespace checkpoint

void PostgresSaver::setUp(const std::string& conninfo, const PostgresSaverOptions& options) {
    checkpoint::PostgresPool pool(checkpoint::poolSettings(conninfo, checkpoint::checkedOptions(options)));
    pool.repeat([](checkpoint::PostgresConnection& connection) { (void)checkpoint::setUpPostgres(connection); });
}

}  // namespace stategraph
