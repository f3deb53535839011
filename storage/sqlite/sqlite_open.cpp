#include <filesystem>
#include <system_error>
#include <thread>

#include <sqlite3.h>
#include <unistd.h>

#include "storage/saver/owner_files.hpp"
#include "storage/sqlite/sqlite_database.hpp"
#include "storage/sqlite/sqlite_tables.hpp"

// Opens a file. Only SQLite opens it: if this process opened and closed it too, that would release the locks that
// SQLite has on it in this process.
namespace stategraph::checkpoint {
namespace {

namespace fs = std::filesystem;

struct SqliteKind {
    std::int64_t application = 0;
    std::int64_t format = 0;
    bool is_empty = false;
};

SqliteKind readKind(SqliteConnection& connection) {
    constexpr const char* work = "read what it is";
    return {connection.askNumber("PRAGMA application_id", work), connection.askNumber("PRAGMA user_version", work),
            connection.askNumber("SELECT count(*) FROM sqlite_schema", work) == 0};
}

// Everything is read from one moment, because another process may be creating the file.
SqliteKind kindOf(SqliteConnection& connection) {
    connection.run("BEGIN", "read what it is");
    try {
        const SqliteKind kind = readKind(connection);
        connection.rollBack();
        return kind;
    } catch (...) {
        connection.rollBack();
        throw;
    }
}

// Returns whether it is a new file.
bool checkKind(const SqliteKind& kind, const SqliteErrors& errors) {
    if (kind.application == 0 && kind.format == 0 && kind.is_empty) return true;
    if (kind.application != sqlite_application_id)
        errors.refuseOpening("it is a SQLite database of something else; name another file");
    if (kind.format > sqlite_format)
        errors.failUnreadable("has format " + std::to_string(kind.format) + ", newer than this library's " +
                              std::to_string(sqlite_format) + "; use a newer stategraph");
    if (kind.format < 1 || kind.is_empty)
        errors.failUnreadable("is damaged: its format version or its tables cannot be read; restore it from a copy");
    return false;
}

void useLog(SqliteConnection& connection, std::chrono::milliseconds timeout) {
    const auto begin = std::chrono::steady_clock::now();
    // Another process that opens the file for the first time may have locked it.
    for (;;) {
        sqlite3_stmt* statement = nullptr;
        int code = sqlite3_prepare_v2(connection.get(), "PRAGMA journal_mode=WAL", -1, &statement, nullptr);
        if (code == SQLITE_OK) code = sqlite3_step(statement);
        const auto* mode = code == SQLITE_ROW ? sqlite3_column_text(statement, 0) : nullptr;
        const bool is_log = mode != nullptr && std::string_view(reinterpret_cast<const char*>(mode)) == "wal";
        sqlite3_finalize(statement);
        if (is_log) return;
        if ((code & 0xff) != SQLITE_BUSY && code != SQLITE_ROW)
            connection.errors().failCall(connection.get(), code, "set WAL mode");
        if (std::chrono::steady_clock::now() - begin >= timeout)
            connection.errors().refuseOpening(
                "it cannot be set to WAL mode: another program has it open, or it is on a network disk; end that, "
                "or name a file on a disk of this computer");
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

// Returns whether the file has the tables for which it is opened. Throws if it has none and none are to be created.
bool hasPart(SqliteConnection& connection, const SqliteSettings& settings) {
    const SqlitePart& part = settings.part;
    if (!part.name) return true;
    constexpr const char* work = "look for its tables";
    const SqliteErrors& errors = connection.errors();
    const bool has_parts =
        connection.askNumber("SELECT count(*) FROM sqlite_schema WHERE type='table' AND name='parts'", work) != 0;
    const std::int64_t format =
        has_parts ? connection.askNumber("SELECT format FROM parts WHERE name='" + std::string(part.name) + "'", work)
                  : 0;
    if (format > part.format)
        errors.failUnreadable("has a " + std::string(part.name) + " of format " + std::to_string(format) +
                              ", newer than this library's " + std::to_string(part.format) +
                              "; use a newer stategraph");
    if (format != 0) return true;
    if (settings.read_only)
        errors.refuseOpening("it has no " + std::string(part.name) + "; opening it read_only does not make one");
    if (!settings.create_if_missing)
        errors.refuseOpening("it has no " + std::string(part.name) + "; check the path or set create_if_missing");
    return false;
}

}  // namespace

std::string prepareSqliteFile(const std::string& path, const SqliteSettings& settings) {
    checkSqliteSettings(settings);
    const SqliteErrors errors(path, settings.owner);
    if (path.empty()) errors.refuseOpening("the path is empty; name a file");
    if (path.find('\0') != std::string::npos)
        errors.refuseOpening("the path has a byte of value 0; name a file without one");
    std::error_code error;
    const fs::path whole = fs::absolute(path, error);
    if (error) errors.refuseOpening(error.message());
    const fs::file_status status = fs::status(whole, error);
    if (error == std::errc::too_many_symbolic_link_levels) errors.refuseOpening(error.message());
    if (fs::is_directory(status)) errors.refuseOpening("it is a folder; a SQLite database is a file");
    if (!fs::exists(status)) {
        if (settings.read_only) errors.refuseOpening("there is none; opening it read_only does not make one");
        if (!settings.create_if_missing) errors.refuseOpening("there is none; check the path or set create_if_missing");
        if (settings.owner_only) {
            error = makeOwnerFolders(whole.parent_path());
        } else {
            fs::create_directories(whole.parent_path(), error);
        }
        if (error) errors.refuseOpening("its folder cannot be made: " + error.message());
    } else if (!settings.read_only &&
               (::access(whole.c_str(), W_OK) != 0 || ::access(whole.parent_path().c_str(), W_OK) != 0)) {
        errors.refuseOpening("this process may not write there; change the permissions or open it read_only");
    } else if (!settings.read_only && fs::is_regular_file(status) && fs::hard_link_count(whole, error) > 1 && !error) {
        // SQLite has a log and locks for each name, and programs that write through two of them destroy the file.
        errors.refuseOpening(
            "the file has more than one name (hard links), and SQLite would lose what is stored through two of them; "
            "delete the other names, or copy the file");
    }
    // One name is used for one file, whatever links lead to it, because SQLite looks for the log next to it.
    const fs::path real = fs::weakly_canonical(whole, error);
    return error ? whole.string() : real.string();
}

void prepareSqliteTables(SqliteConnection& connection, const SqliteSettings& settings) {
    const SqliteErrors& errors = connection.errors();
    const bool is_new = checkKind(kindOf(connection), errors);
    if (settings.read_only) {
        if (is_new) errors.refuseOpening("it is empty; opening it read_only does not make tables");
        (void)hasPart(connection, settings);
        return;
    }
    if (is_new && !settings.create_if_missing)
        errors.refuseOpening("it is empty; check the path or set create_if_missing");
    useLog(connection, settings.busy_timeout);
    // The log stays up to this size after it was copied into the file, so that the next one can use it.
    connection.run("PRAGMA journal_size_limit=67108864; PRAGMA secure_delete=FAST", "set it up");
    if (!is_new && hasPart(connection, settings)) return;
    connection.run("PRAGMA synchronous=FULL; BEGIN IMMEDIATE", "make its tables");
    try {
        if (checkKind(readKind(connection), errors)) {
            const std::string sql = std::string(sqlite_tables) +
                                    "PRAGMA application_id=" + std::to_string(sqlite_application_id) +
                                    "; PRAGMA user_version=" + std::to_string(sqlite_format);
            connection.run(sql.c_str(), "make its tables");
        }
        if (!hasPart(connection, settings)) {
            const std::string sql = std::string(sqlite_parts) + settings.part.tables + "INSERT INTO parts VALUES ('" +
                                    settings.part.name + "', " + std::to_string(settings.part.format) + ")";
            connection.run(sql.c_str(), "make its tables");
        }
        connection.run("COMMIT", "make its tables");
    } catch (...) {
        connection.rollBack();
        throw;
    }
}

}  // namespace stategraph::checkpoint
