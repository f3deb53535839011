#include <stategraph/sqlite_saver.hpp>

#include <algorithm>
#include <limits>
#include <span>

#include <stategraph/record.hpp>

#include "src/value/bytes.hpp"
#include "storage/saver/branch_walk.hpp"
#include "storage/sqlite/sqlite_impl.hpp"

// Stores and reads; sqlite_prune.cpp removes.
namespace stategraph {
namespace checkpoint {

namespace {

constexpr const char* select_thread = "SELECT thread FROM commits WHERE thread>=? ORDER BY thread LIMIT 1";
constexpr const char* select_ns = "SELECT ns FROM commits WHERE thread=? AND ns>=? ORDER BY ns LIMIT 1";
constexpr const char* select_head = "SELECT id, bytes FROM commits WHERE thread=? AND ns=? ORDER BY id DESC LIMIT 1";
constexpr const char* select_commit = "SELECT bytes FROM commits WHERE thread=? AND ns=? AND id=?";

}  // namespace

std::optional<std::string> threadFrom(SqliteConnection& connection, std::string_view name) {
    SqliteQuery query(connection, select_thread, "read the names of threads");
    if (!query.bind(name).step()) return std::nullopt;
    return std::string(query.bytes(0));
}

std::optional<std::string> namespaceFrom(SqliteConnection& connection, std::string_view thread_id,
                                         std::string_view ns) {
    SqliteQuery query(connection, select_ns, "read a thread's namespaces");
    if (!query.bind(thread_id).bind(ns).step()) return std::nullopt;
    return std::string(query.bytes(0));
}

CheckpointId headOf(SqliteConnection& connection, const LogName& log, std::string* bytes) {
    SqliteQuery query(connection, select_head, "read the newest commit");
    if (!query.bind(log).step()) return {};
    if (bytes) *bytes = query.bytes(1);
    return query.id(0);
}

std::optional<std::string> readSqliteCommit(SqliteConnection& connection, const LogName& log, CheckpointId id) {
    SqliteQuery query(connection, select_commit, "read a commit");
    if (!query.bind(log).bind(id).step()) return std::nullopt;
    return std::string(query.bytes(0));
}

}  // namespace checkpoint

namespace {

using checkpoint::SqliteConnection;
using checkpoint::SqliteDatabase;
using checkpoint::SqliteQuery;

constexpr const char* insert_commit = "INSERT INTO commits VALUES (?, ?, ?, ?)";
constexpr const char* put_write =
    "INSERT INTO writes VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET bytes=excluded.bytes";
constexpr const char* select_write = "SELECT bytes FROM writes WHERE thread=? AND ns=? AND id=? AND path=?";
constexpr const char* select_writes = "SELECT path, bytes FROM writes WHERE thread=? AND ns=? AND id=? ORDER BY path";
constexpr const char* select_writes_between =
    "SELECT id, path, bytes FROM writes WHERE thread=? AND ns=? AND id>=? AND id<=? ORDER BY id, path";
constexpr const char* select_before =
    "SELECT id, bytes FROM commits WHERE thread=? AND ns=? AND id<? ORDER BY id DESC LIMIT ?";
constexpr const char* select_newest = "SELECT id, bytes FROM commits WHERE thread=? AND ns=? ORDER BY id DESC LIMIT ?";
constexpr const char* select_between =
    "SELECT id, bytes FROM commits WHERE thread=? AND ns=? AND id>=? AND id<=? ORDER BY id";
constexpr const char* select_next =
    "SELECT id, bytes FROM commits WHERE thread=? AND ns=? AND id>? ORDER BY id LIMIT 1";
constexpr const char* select_any_commit = "SELECT 1 FROM commits WHERE thread=? LIMIT 1";
constexpr const char* select_any_write = "SELECT 1 FROM writes WHERE thread=? LIMIT 1";
constexpr const char* copy_commits = "INSERT INTO commits SELECT ?2, ns, id, bytes FROM commits WHERE thread=?1";
constexpr const char* copy_writes = "INSERT INTO writes SELECT ?2, ns, id, path, bytes FROM writes WHERE thread=?1";
constexpr const char* put_graph =
    "INSERT INTO graphs VALUES (?, ?) ON CONFLICT DO UPDATE SET bytes=excluded.bytes WHERE bytes<>excluded.bytes";
constexpr const char* select_graph = "SELECT bytes FROM graphs WHERE fingerprint=?";

const SqliteSaverOptions& checked(const SqliteSaverOptions& options) {
    if (!options.retention) return options;
    checkpoint::checkRetention(*options.retention);
    if (options.read_only)
        throw InvalidArgumentError("retention: a read_only database cannot be pruned; set one of them only");
    return options;
}

std::string keyOf(const GraphFingerprint& fingerprint) {
    std::string key(16, '\0');
    CheckpointId(fingerprint.graph, fingerprint.schema).toBytes(key.data());
    return key;
}

// Everything that may be refused comes before the first row.
void putRows(SqliteConnection& connection, const PutRequest& request) {
    const LogName& log = request.log;
    checkpoint::checkStored(
        request, checkpoint::headOf(connection, log),
        [&](const LogName& name, CheckpointId id) {
            return checkpoint::readSqliteCommit(connection, name, id).has_value();
        },
        [&](const WriteRow& row) -> std::optional<std::string> {
            SqliteQuery query(connection, select_write, "read a pending write");
            if (!query.bind(log).bind(row.checkpoint_id).bind(row.path).step()) return std::nullopt;
            return std::string(query.bytes(0));
        });
    checkpoint::noteInIndex(connection, request);
    for (const CommitRow& row : request.commits) {
        SqliteQuery query(connection, insert_commit, "store a commit");
        query.bind(log).bind(row.id).bind(row.bytes).finish();
    }
    for (const WriteRow& row : request.writes) {
        SqliteQuery query(connection, put_write, "store a pending write");
        query.bind(log).bind(row.checkpoint_id).bind(row.path).bind(row.bytes).finish();
    }
}

std::vector<StoredWrite> readWrites(SqliteConnection& connection, const LogName& log, CheckpointId id) {
    std::vector<StoredWrite> writes;
    SqliteQuery query(connection, select_writes, "read pending writes");
    query.bind(log).bind(id);
    while (query.step()) writes.push_back({std::string(query.bytes(0)), std::string(query.bytes(1))});
    return writes;
}

// Reads the commits that lead to the tuple's checkpoint, without those of other branches. Returns false and changes
// nothing if a header on the way cannot be read; the fold reports that.
bool readBranch(SqliteConnection& connection, const LogName& log, CheckpointTuple& tuple) {
    std::vector<StoredCommit> commits;
    try {
        checkpoint::walkToBase(log, tuple.id, [&](CheckpointId id) -> std::optional<std::string_view> {
            auto bytes = checkpoint::readSqliteCommit(connection, log, id);
            if (!bytes) return {};
            commits.push_back({id, std::move(*bytes)});
            return commits.back().bytes;
        });
    } catch (const CorruptCheckpointError&) {
        return false;
    }
    std::reverse(commits.begin(), commits.end());
    tuple.commits = std::move(commits);
    return true;
}

// Reads from the checkpoint's base to the checkpoint. If there may be many commits of other branches, they are left
// out.
void readCommits(SqliteConnection& connection, const LogName& log, CheckpointTuple& tuple, std::string newest) {
    const RecordLinks links = readLinks({log.thread_id, log.checkpoint_ns, tuple.id}, newest);
    if (links.base < tuple.id) {
        SqliteQuery query(connection, select_between, "read commits");
        query.bind(log).bind(links.base).bind(tuple.id);
        bool may_skip = true;
        RowBuffer buffer;
        std::size_t bytes = 0;
        while (query.step()) {
            const CheckpointId id = query.id(0);
            if (id == tuple.id) break;
            bytes += query.bytes(1).size();
            if (may_skip &&
                (tuple.commits.size() >= checkpoint::unseen_rows_max || bytes > checkpoint::unseen_bytes_max)) {
                may_skip = false;
                if (readBranch(connection, log, tuple)) return;
            }
            tuple.commits.push_back({id, buffer.add(query.bytes(1))});
        }
    }
    tuple.commits.push_back({tuple.id, std::move(newest)});
}

// Adds the pending writes to rows of one log, newest first. One walk reads all of them, because they are in the order
// of ids too.
void addWrites(SqliteConnection& connection, const LogName& log, std::span<ListedCheckpoint> listed) {
    if (listed.empty()) return;
    SqliteQuery query(connection, select_writes_between, "read pending writes");
    query.bind(log).bind(listed.back().id).bind(listed.front().id);
    auto at = listed.rbegin();
    while (query.step()) {
        const CheckpointId id = query.id(0);
        while (at != listed.rend() && at->id < id) ++at;
        if (at == listed.rend()) return;
        if (at->id == id) at->writes.push_back({std::string(query.bytes(1)), std::string(query.bytes(2))});
    }
}

void listLog(SqliteConnection& connection, const LogName& log, const ListQuery& query,
             std::vector<ListedCheckpoint>& out) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
    const std::size_t others = out.size();
    const std::size_t limit = query.heads ? 1 : std::min(query.limit.value_or(most), most + others) - others;
    SqliteQuery rows(connection, query.before.empty() ? select_newest : select_before, "list checkpoints");
    rows.bind(log);
    if (!query.before.empty()) rows.bind(query.before);
    rows.bindNumber(static_cast<std::int64_t>(std::min(limit, most)));
    RowBuffer buffer;
    while (rows.step()) {
        out.push_back(
            {std::string(log.thread_id), std::string(log.checkpoint_ns), rows.id(0), buffer.add(rows.bytes(1)), {}});
    }
    if (query.with_writes) addWrites(connection, log, std::span(out).subspan(others));
}

void listThread(SqliteConnection& connection, const std::string& thread_id, const ListQuery& query,
                std::vector<ListedCheckpoint>& out) {
    if (query.checkpoint_ns) return listLog(connection, {thread_id, *query.checkpoint_ns}, query, out);
    auto ns = checkpoint::namespaceFrom(connection, thread_id, "");
    while (ns && (!query.limit || out.size() < *query.limit)) {
        listLog(connection, {thread_id, *ns}, query, out);
        ns = checkpoint::namespaceFrom(connection, thread_id, checkpoint::nameAfter(*ns));
    }
}

}  // namespace

SqliteSaver::SqliteSaver(const std::string& path, const SqliteSaverOptions& options)
    : impl_(std::make_unique<Impl>(path, checked(options))) {
    if (options.retention) impl_->retention = std::make_unique<checkpoint::Retention>(*this, *options.retention);
}

SqliteSaver::~SqliteSaver() {
    impl_->is_closing = true;
    checkpoint::endRetention(impl_->retention);  // its thread calls prune
}

std::string SqliteSaver::droppedAtOpening() const { return impl_->database.dropped(); }
RetentionReport SqliteSaver::retentionReport() const {
    return impl_->retention ? impl_->retention->report() : RetentionReport();
}

void SqliteSaver::put(const PutRequest& request) {
    checkpoint::checkPut(request);
    checkpoint::ofSqliteLog(request.log, [&] {
        impl_->database.write(request.sync, [&](SqliteConnection& connection) { putRows(connection, request); });
    });
}

std::unique_ptr<ThreadHold> SqliteSaver::tryHold(std::string_view thread_id) {
    impl_->database.checkWritable();
    return impl_->holds.tryHold(thread_id);
}

std::optional<CheckpointTuple> SqliteSaver::getTuple(const TupleQuery& query) {
    return checkpoint::ofSqliteLog(query.log, [&]() -> std::optional<CheckpointTuple> {
        const LogName& log = query.log;
        SqliteDatabase::Reading reading(impl_->database);
        SqliteConnection& connection = reading.connection();
        std::string bytes;
        CheckpointTuple tuple;
        tuple.head = checkpoint::headOf(connection, log, &bytes);
        tuple.id = tuple.head;
        if (tuple.head.empty()) return std::nullopt;
        if (!query.checkpoint_id.empty()) {
            tuple.id = query.checkpoint_id;
            if (tuple.id != tuple.head) {
                auto found = checkpoint::readSqliteCommit(connection, log, tuple.id);
                if (!found) return std::nullopt;
                bytes = std::move(*found);
            }
        } else if (!query.before.empty() && tuple.head >= query.before) {
            SqliteQuery rows(connection, select_before, "read a commit");
            if (!rows.bind(log).bind(query.before).bindNumber(1).step()) return std::nullopt;
            tuple.id = rows.id(0);
            bytes = rows.bytes(1);
        }
        readCommits(connection, log, tuple, std::move(bytes));
        tuple.writes = readWrites(connection, log, tuple.id);
        if (tuple.id != tuple.head) {
            SqliteQuery rows(connection, select_next, "read a commit");
            if (rows.bind(log).bind(tuple.id).step()) tuple.next = {rows.id(0), std::string(rows.bytes(1))};
        }
        return tuple;
    });
}

std::vector<ListedCheckpoint> SqliteSaver::list(const ListQuery& query) {
    std::vector<ListedCheckpoint> listed;
    if (query.limit == std::size_t{0}) return listed;
    SqliteDatabase::Reading reading(impl_->database);
    SqliteConnection& connection = reading.connection();
    if (query.thread_id) {
        if (!query.after_thread_id || *query.after_thread_id < *query.thread_id)
            checkpoint::ofSqliteLog({*query.thread_id},
                                    [&] { listThread(connection, *query.thread_id, query, listed); });
        return listed;
    }
    if (!query.thread_ids.empty()) {
        for (const std::string& thread_id : query.thread_ids) {
            if (query.limit && listed.size() >= *query.limit) break;
            checkpoint::ofSqliteLog({thread_id}, [&] { listThread(connection, thread_id, query, listed); });
        }
        return listed;
    }
    const std::string from = query.after_thread_id ? checkpoint::nameAfter(*query.after_thread_id) : std::string();
    auto thread_id = checkpoint::threadFrom(connection, from);
    while (thread_id) {
        checkpoint::ofSqliteLog({*thread_id}, [&] { listThread(connection, *thread_id, query, listed); });
        if (query.limit && listed.size() >= *query.limit) break;
        thread_id = checkpoint::threadFrom(connection, checkpoint::nameAfter(*thread_id));
    }
    return listed;
}

void SqliteSaver::copyThread(std::string_view from, std::string_view to) {
    impl_->database.checkWritable();
    checkpoint::checkCopyTarget(to);
    const auto copy = [&](SqliteConnection& connection) {
        for (const char* sql : {select_any_commit, select_any_write}) {
            SqliteQuery query(connection, sql, "look for a copy's target");
            if (query.bind(to).step()) checkpoint::refuseCopy(from, to);
        }
        for (const char* sql : {copy_commits, copy_writes, checkpoint::copy_place})
            SqliteQuery(connection, sql, "copy a thread").bind(from).bind(to).finish();
    };
    checkpoint::ofSqliteLog({to}, [&] { impl_->database.write(true, copy, SqliteDatabase::Batch::alone); });
}

void SqliteSaver::putGraph(const GraphFingerprint& fingerprint, std::string_view bytes) {
    impl_->database.checkWritable();
    if (getGraph(fingerprint) == bytes) return;
    const std::string key = keyOf(fingerprint);
    impl_->database.write(false, [&](SqliteConnection& connection) {
        SqliteQuery(connection, put_graph, "store a graph's description").bind(key).bind(bytes).finish();
    });
}

std::optional<std::string> SqliteSaver::getGraph(const GraphFingerprint& fingerprint) {
    const std::string key = keyOf(fingerprint);
    SqliteDatabase::Reading reading(impl_->database);
    SqliteQuery query(reading.connection(), select_graph, "read a graph's description");
    if (!query.bind(key).step()) return std::nullopt;
    return std::string(query.bytes(0));
}

}  // namespace stategraph
