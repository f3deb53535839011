#pragma once
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <stategraph/error.hpp>
#include <stategraph/rocksdb_saver.hpp>
#if STATEGRAPH_HAS_SQLITE
#include <stategraph/sqlite_saver.hpp>
#endif
#if STATEGRAPH_HAS_POSTGRES
#include <libpq-fe.h>

#include <stategraph/postgres_saver.hpp>

#include "tests/support/until.hpp"
#endif

namespace fault {

/// If a thread's folder has this file, the thread is in a SQLite file.
inline constexpr const char* sqlite_mark = "on_sqlite";
/// If it has this file, the thread is in a schema of a PostgreSQL server, whose name is in the file. Other folders are
/// RocksDB's.
inline constexpr const char* postgres_mark = "on_postgres";

inline bool isOnSqlite(const std::filesystem::path& folder) { return std::filesystem::exists(folder / sqlite_mark); }
inline bool isOnPostgres(const std::filesystem::path& folder) {
    return std::filesystem::exists(folder / postgres_mark);
}

#if STATEGRAPH_HAS_POSTGRES
inline std::string schemaOf(const std::filesystem::path& folder) {
    std::ifstream file(folder / postgres_mark);
    std::string name;
    std::getline(file, name);
    return name;
}
/// Returns the conninfo of the server that CTest started. Its processes for the folder's programs have the schema's
/// name too.
inline std::string conninfoOf(const std::filesystem::path& folder) {
    const char* const given = std::getenv("STATEGRAPH_TEST_POSTGRES");
    if (given == nullptr) throw std::runtime_error("STATEGRAPH_TEST_POSTGRES names no server");
    return std::string(given) + " application_name=" + schemaOf(folder);
}
/// Returns the first column of the first row.
inline std::string askPostgres(const std::string& sql) {
    const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(std::getenv("STATEGRAPH_TEST_POSTGRES")),
                                                                  &PQfinish);
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection.get(), sql.c_str()), &PQclear);
    if (PQresultStatus(result.get()) != PGRES_TUPLES_OK && PQresultStatus(result.get()) != PGRES_COMMAND_OK)
        throw std::runtime_error(sql + ": " + PQerrorMessage(connection.get()));
    return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}
#endif

/// Waits until nothing that a killed process began is under way, because a server ends the statement on which it works.
inline void awaitQuiet([[maybe_unused]] const std::filesystem::path& folder) {
#if STATEGRAPH_HAS_POSTGRES
    if (!isOnPostgres(folder)) return;
    const std::string count =
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = '" + schemaOf(folder) + "'";
    patience::until([&] { return askPostgres(count) == "0"; });
#endif
}

/// Opens the saver of a thread's folder.
inline std::shared_ptr<stategraph::BaseCheckpointSaver> openSaver(const std::filesystem::path& folder,
                                                                  bool read_only = false) {
#if STATEGRAPH_HAS_SQLITE
    if (isOnSqlite(folder))
        // A process that is frozen, or waits for the disk, may have the file for longer than ten seconds.
        return std::make_shared<stategraph::SqliteSaver>(
            (folder / "threads.db").string(),
            stategraph::SqliteSaverOptions{.read_only = read_only, .busy_timeout = std::chrono::minutes(10)});
#endif
#if STATEGRAPH_HAS_POSTGRES
    if (isOnPostgres(folder))
        return std::make_shared<stategraph::PostgresSaver>(
            conninfoOf(folder), stategraph::PostgresSaverOptions{.schema = schemaOf(folder),
                                                                 .set_up = !read_only,
                                                                 .read_only = read_only,
                                                                 .connection_wait = std::chrono::minutes(10),
                                                                 .connect_timeout = std::chrono::minutes(10),
                                                                 .statement_timeout = std::chrono::minutes(10),
                                                                 .reconnect_for = std::chrono::minutes(10)});
#endif
    return std::make_shared<stategraph::RocksDBSaver>((folder / "db").string(),
                                                      stategraph::RocksDBSaverOptions{.read_only = read_only});
}

/// Returns whether a process reached the point of creating a database there.
inline bool hasDatabase(const std::filesystem::path& folder) {
    if (!isOnSqlite(folder) && !isOnPostgres(folder)) return std::filesystem::exists(folder / "db" / "CURRENT");
    if (isOnSqlite(folder) && !std::filesystem::exists(folder / "threads.db")) return false;
    try {
        (void)openSaver(folder, true);
        return true;
    } catch (const stategraph::SaverError& error) {
        for (const char* unmade : {"it is empty", "died while it made the file", "the schema has no tables"}) {
            if (error.message().find(unmade) != std::string::npos) return false;  // a database without its tables
        }
        throw;
    }
}

/// Removes the folder, and the folder's data on a server.
inline void removeDatabase(const std::filesystem::path& folder) {
#if STATEGRAPH_HAS_POSTGRES
    if (isOnPostgres(folder))
        askPostgres("SET client_min_messages=error; DROP SCHEMA IF EXISTS " + schemaOf(folder) + " CASCADE");
#endif
    std::filesystem::remove_all(folder);
}

}  // namespace fault
