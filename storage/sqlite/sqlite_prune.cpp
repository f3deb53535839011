#include <algorithm>
#include <deque>

#include <stategraph/record.hpp>

#include "storage/saver/damaged.hpp"
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

struct SqliteLogPrune {
    std::string ns;
    std::size_t commits = 0;
    checkpoint::LogPlan plan;
};

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

checkpoint::LogLinks linksOf(SqliteConnection& connection, const LogName& log) {
    checkpoint::LogLinks links{
        .checkpoint_ns = log.checkpoint_ns, .commits = {}, .interrupted = {}, .thread_id = log.thread_id};
    SqliteQuery commits(connection, select_log, "read a thread's commits");
    commits.bind(log);
    while (commits.step()) {
        const CheckpointId id = commits.id(0);
        RecordLinks record = readLinks({log.thread_id, log.checkpoint_ns, id}, commits.bytes(1));
        links.commits.push_back({id, record.parent, record.base, record.root, commits.bytes(1).size(),
                                 std::move(record.visits), record.has_all_visits, record.around});
    }
    SqliteQuery writes(connection, select_log_writes, "read pending writes");
    writes.bind(log);
    while (writes.step()) {
        const CheckpointId id = writes.id(0);
        if (hasOpenInterrupt({log.thread_id, log.checkpoint_ns, id, writes.bytes(1)}, writes.bytes(2)))
            links.interrupted.push_back(id);
    }
    return links;
}

// The order of bytes has the root's log first, and "a" before "a|b".
std::vector<SqliteLogPrune> planThread(SqliteConnection& connection, std::string_view thread_id,
                                       const PruneRequest& request) {
    std::deque<std::string> names;
    std::vector<checkpoint::LogLinks> logs;
    auto ns = checkpoint::namespaceFrom(connection, thread_id, "");
    while (ns) {
        names.push_back(std::move(*ns));
        logs.push_back(linksOf(connection, {thread_id, names.back()}));
        ns = checkpoint::namespaceFrom(connection, thread_id, checkpoint::nameAfter(names.back()));
    }
    const auto read = [&](std::string_view of, CheckpointId id) {
        auto record = checkpoint::readSqliteCommit(connection, {thread_id, of}, id);
        if (!record)
            connection.errors().failUnreadable(
                "is damaged: a commit that is listed cannot be found; restore it from a copy");
        return std::move(*record);
    };
    std::vector<checkpoint::LogPlan> planned = checkpoint::ThreadPrune(request).plan(logs, read);
    std::vector<SqliteLogPrune> plans;
    for (std::size_t i = 0; i < logs.size(); ++i) {
        if (!planned[i].dropped.empty())
            plans.push_back({std::move(names[i]), logs[i].commits.size(), std::move(planned[i])});
    }
    return plans;
}

std::size_t applyPlan(SqliteConnection& connection, const LogName& log, const SqliteLogPrune& prune) {
    constexpr const char* work = "prune a thread";
    const bool is_whole = prune.plan.dropped.size() == prune.commits;
    for (const CheckpointId id : prune.plan.dropped) {
        SqliteQuery(connection, delete_commit, work).bind(log).bind(id).finish();
        if (!is_whole) SqliteQuery(connection, delete_writes_of, work).bind(log).bind(id).finish();
    }
    if (is_whole) SqliteQuery(connection, delete_writes_of_log, work).bind(log).finish();
    for (const StoredCommit& commit : prune.plan.rewritten)
        SqliteQuery(connection, rewrite_commit, work).bind(log).bind(commit.id).bind(commit.bytes).finish();
    return prune.plan.dropped.size();
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
    const auto& since = request.threads_unused_since;
    const bool drops_commits = request.keep_last || request.older_than;
    {
        SqliteDatabase::Reading reading(database);
        SqliteConnection& connection = reading.connection();
        const bool is_unused = since && isUnused(connection, thread_id, *since);
        if (!is_unused && (!drops_commits || planThread(connection, thread_id, request).empty())) return 0;
    }
    std::size_t dropped = 0;
    database.write(
        false,
        [&](SqliteConnection& connection) {
            dropped = 0;
            if (since && isUnused(connection, thread_id, *since)) {
                dropped = dropThread(connection, thread_id);
            } else if (drops_commits) {
                for (const SqliteLogPrune& log : planThread(connection, thread_id, request))
                    dropped += applyPlan(connection, {thread_id, log.ns}, log);
            }
        },
        SqliteDatabase::Batch::alone);
    return dropped;
}

std::size_t SqliteSaver::prune(const PruneRequest& request) {
    impl_->database.checkWritable();
    checkpoint::checkPrune(request);
    if (request.thread_id)
        return checkpoint::ofSqliteLog({*request.thread_id},
                                       [&] { return impl_->pruneThread(*request.thread_id, request); });
    std::size_t dropped = 0;
    const auto nextThread = [&](const std::string& from) {
        SqliteDatabase::Reading reading(impl_->database);
        return checkpoint::threadFrom(reading.connection(), from);
    };
    for (auto thread_id = nextThread(""); thread_id && !impl_->is_closing;
         thread_id = nextThread(checkpoint::nameAfter(*thread_id))) {
        checkpoint::pruneOrNote(request, *thread_id, [&] {
            checkpoint::ofSqliteLog({*thread_id}, [&] { dropped += impl_->pruneThread(*thread_id, request); });
        });
    }
    return dropped;
}

std::optional<std::uint64_t> SqliteSaver::storedBytes() {
    SqliteDatabase::Reading reading(impl_->database);
    SqliteQuery query(reading.connection(), count_bytes, "read its size");
    if (!query.step()) return std::nullopt;
    return static_cast<std::uint64_t>(query.number(0));
}

}  // namespace stategraph
