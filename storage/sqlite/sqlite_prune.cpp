#include <optional>
#include <string>
#include <utility>

#include <stategraph/record.hpp>

#include "storage/saver/prune_rules.hpp"
#include "storage/sqlite/sqlite_impl.hpp"

// Deletes and prunes threads.
namespace stategraph {
namespace {

using checkpoint::SqliteConnection;
using checkpoint::SqliteDatabase;
using checkpoint::SqliteQuery;

constexpr const char* delete_commits = "DELETE FROM commits WHERE thread=?";
constexpr const char* delete_writes = "DELETE FROM writes WHERE thread=?";
constexpr const char* delete_commit = "DELETE FROM commits WHERE thread=? AND ns=? AND id=?";
constexpr const char* delete_writes_of = "DELETE FROM writes WHERE thread=? AND ns=? AND id=?";
constexpr const char* delete_writes_of_log = "DELETE FROM writes WHERE thread=? AND ns=?";
constexpr const char* rewrite_commit = "UPDATE commits SET bytes=?4 WHERE thread=?1 AND ns=?2 AND id=?3";
constexpr const char* select_log = "SELECT id, bytes FROM commits WHERE thread=? AND ns=? ORDER BY id";
constexpr const char* select_log_writes =
    "SELECT id, path, bytes FROM writes WHERE thread=? AND ns=? ORDER BY id, path";
constexpr const char* count_bytes =
    "SELECT (page_count-freelist_count)*page_size FROM pragma_page_count(), pragma_freelist_count(), "
    "pragma_page_size()";

std::size_t dropThread(SqliteConnection& connection, std::string_view thread_id) {
    SqliteQuery(connection, delete_writes, "delete a thread").bind(thread_id).finish();
    SqliteQuery(connection, checkpoint::delete_place, "delete a thread").bind(thread_id).finish();
    return static_cast<std::size_t>(
        SqliteQuery(connection, delete_commits, "delete a thread").bind(thread_id).finish());
}

bool hasOpenInterrupts(SqliteConnection& connection, const LogName& log) {
    SqliteQuery rows(connection, select_log_writes, "read pending writes");
    rows.bind(log);
    while (rows.step()) {
        if (hasOpenInterrupt({log.thread_id, log.checkpoint_ns, rows.id(0), rows.bytes(1)}, rows.bytes(2))) return true;
    }
    return false;
}

bool isUnused(SqliteConnection& connection, std::string_view thread_id, std::chrono::system_clock::time_point since) {
    checkpoint::ThreadUse use(since);
    auto ns = checkpoint::namespaceFrom(connection, thread_id, "");
    while (ns) {
        const LogName log{thread_id, *ns};
        std::string bytes;
        const CheckpointId head = checkpoint::headOf(connection, log, &bytes);
        use.add(*ns, head, readLinks({thread_id, *ns, head}, bytes),
                [&] { return hasOpenInterrupts(connection, log); });
        if (use.isUsed()) return false;
        ns = checkpoint::namespaceFrom(connection, thread_id, checkpoint::nameAfter(*ns));
    }
    return !use.isUsed();
}

// The order of bytes has the root's log first, and "a" before "a|b".
checkpoint::ThreadPlan planThread(SqliteConnection& connection, std::string_view thread_id,
                                  const PruneRequest& request) {
    checkpoint::ThreadRows rows(thread_id);
    for (auto ns = checkpoint::namespaceFrom(connection, thread_id, ""); ns;
         ns = checkpoint::namespaceFrom(connection, thread_id, checkpoint::nameAfter(*ns))) {
        const LogName log{thread_id, *ns};
        rows.addLog(*ns);
        SqliteQuery commits(connection, select_log, "read a thread's commits");
        commits.bind(log);
        while (commits.step()) rows.addCommit(commits.id(0), commits.bytes(1));
        SqliteQuery writes(connection, select_log_writes, "read pending writes");
        writes.bind(log);
        while (writes.step()) rows.addWrite(writes.id(0), writes.bytes(1), writes.bytes(2));
    }
    return rows.plan(request, [&](std::string_view of, CheckpointId id) {
        auto record = checkpoint::readSqliteCommit(connection, {thread_id, of}, id);
        if (!record)
            connection.errors().failUnreadable(
                "is damaged: a commit that is listed cannot be found; restore it from a copy");
        return std::move(*record);
    });
}

void applyPlan(SqliteConnection& connection, const LogName& log, const checkpoint::LogPlan& plan) {
    constexpr const char* work = "prune a thread";
    for (const CheckpointId id : plan.dropped) {
        SqliteQuery(connection, delete_commit, work).bind(log).bind(id).finish();
        if (!plan.is_whole) SqliteQuery(connection, delete_writes_of, work).bind(log).bind(id).finish();
    }
    if (plan.is_whole) SqliteQuery(connection, delete_writes_of_log, work).bind(log).finish();
    for (const StoredCommit& commit : plan.rewritten)
        SqliteQuery(connection, rewrite_commit, work).bind(log).bind(commit.id).bind(commit.bytes).finish();
}

}  // namespace

void SqliteSaver::deleteThread(std::string_view thread_id) {
    checkpoint::ofSqliteLog({thread_id}, [&] {
        impl_->database.write(
            true, [&](SqliteConnection& connection) { dropThread(connection, thread_id); },
            SqliteDatabase::Batch::alone);
    });
}

// Prunes one thread at a time. It is read first while writers need not wait, and again while they do, because a writer
// may have built on what is being dropped.
std::size_t SqliteSaver::Impl::pruneThread(const std::string& thread_id, const PruneRequest& request) {
    const bool drops_commits = checkpoint::dropsCommits(request);
    {
        SqliteDatabase::Reading reading(database);
        SqliteConnection& connection = reading.connection();
        if (!drops_commits && !isUnused(connection, thread_id, *request.threads_unused_since)) return 0;
        if (drops_commits && planThread(connection, thread_id, request).dropped_commits == 0) return 0;
    }
    std::size_t dropped = 0;
    database.write(
        false,
        [&](SqliteConnection& connection) {
            const checkpoint::ThreadPlan plan = planThread(connection, thread_id, request);
            dropped = plan.dropped_commits;
            if (plan.drops_thread) dropThread(connection, thread_id);
            for (const checkpoint::LogPlan& log : plan.logs) applyPlan(connection, {thread_id, log.checkpoint_ns}, log);
        },
        SqliteDatabase::Batch::alone);
    return dropped;
}

std::size_t SqliteSaver::prune(const PruneRequest& request) {
    impl_->database.checkWritable();
    const auto next = [&](const std::optional<std::string>& last) -> std::optional<std::string> {
        if (impl_->is_closing) return std::nullopt;
        SqliteDatabase::Reading reading(impl_->database);
        return checkpoint::threadFrom(reading.connection(), last ? checkpoint::nameAfter(*last) : "");
    };
    return checkpoint::pruneThreads(request, next, [&](const std::string& thread_id) {
        return checkpoint::ofSqliteLog({thread_id}, [&] { return impl_->pruneThread(thread_id, request); });
    });
}

std::optional<std::uint64_t> SqliteSaver::storedBytes() {
    SqliteDatabase::Reading reading(impl_->database);
    SqliteQuery query(reading.connection(), count_bytes, "read its size");
    if (!query.step()) return std::nullopt;
    return static_cast<std::uint64_t>(query.number(0));
}

}  // namespace stategraph
