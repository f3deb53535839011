#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/saver_rules.hpp>
#include <stategraph/sqlite_saver.hpp>

#include "storage/saver/retention.hpp"
#include "storage/sqlite/sqlite_database.hpp"
#include "storage/sqlite/sqlite_thread_holds.hpp"

// What the SQLite saver's files share. sqlite_tables.hpp defines the rows. A call stores or removes rows in one
// transaction (a prune uses one for each thread), and reads them from one moment.
namespace stategraph::checkpoint {

/// Calls `call`, and adds the log to its errors.
template <class Call>
auto ofSqliteLog(const LogName& log, Call&& call) {
    try {
        return call();
    } catch (Error& error) {
        error.addContext({.thread_id = std::string(log.thread_id), .checkpoint_ns = std::string(log.checkpoint_ns)});
        throw;
    }
}

/// Returns the first name after this one in the order of bytes.
inline std::string nameAfter(std::string_view name) { return std::string(name) + '\0'; }

/// Returns the first thread whose name is not before this one, or none.
std::optional<std::string> threadFrom(SqliteConnection& connection, std::string_view name);
/// Returns the thread's first namespace that is not before this one.
std::optional<std::string> namespaceFrom(SqliteConnection& connection, std::string_view thread_id, std::string_view ns);
/// Returns the log's newest commit. `bytes`, if it is not null, receives its record.
CheckpointId headOf(SqliteConnection& connection, const LogName& log, std::string* bytes = nullptr);
/// Returns a commit's record.
std::optional<std::string> readSqliteCommit(SqliteConnection& connection, const LogName& log, CheckpointId id);

/// Notes in the index of threads what a put changes, if it is a put to a thread's own log; see sqlite_index.cpp.
void noteInIndex(SqliteConnection& connection, const PutRequest& request);
inline constexpr const char* copy_place =
    "INSERT INTO threads SELECT ?2, status, since, due, summary FROM threads WHERE thread=?1";
inline constexpr const char* delete_place = "DELETE FROM threads WHERE thread=?";

}  // namespace stategraph::checkpoint

namespace stategraph {

struct SqliteSaver::Impl {
    Impl(const std::string& path, const SqliteSaverOptions& options)
        : database(path, {.create_if_missing = options.create_if_missing,
                          .read_only = options.read_only,
                          .busy_timeout = options.busy_timeout,
                          .readers_max = options.readers_max,
                          .drop_damaged_log = options.drop_damaged_log,
                          .owner_only = options.owner_only}) {}

    std::size_t pruneThread(const std::string& thread_id, const PruneRequest& request);

    checkpoint::SqliteDatabase database;
    checkpoint::SqliteThreadHolds holds{database.errors()};
    std::atomic<bool> is_closing{false};
    std::unique_ptr<checkpoint::Retention> retention;
};

}  // namespace stategraph
