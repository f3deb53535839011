#include <algorithm>
#include <limits>
#include <span>

#include <stategraph/error.hpp>

#include "src/value/bytes.hpp"
#include "storage/rocksdb/rocksdb_impl.hpp"
#include "storage/saver/branch_walk.hpp"

// Stores and reads; rocksdb_prune.cpp removes.
namespace stategraph {
namespace {

using checkpoint::Cursor;
using checkpoint::idAt;
using checkpoint::slice;
using checkpoint::Table;

constexpr std::size_t copy_bytes_max = std::size_t{1} << 30U;

const RocksDBSaverOptions& checked(const RocksDBSaverOptions& options) {
    if (options.follow && !options.read_only)
        throw InvalidArgumentError("follow: only a database that is open read_only follows another; set read_only too");
    if (options.follow && options.follow_every < std::chrono::milliseconds(0))
        throw InvalidArgumentError("follow_every is " + std::to_string(options.follow_every.count()) +
                                   " ms; it must be at least 0");
    if (!options.retention) return options;
    checkpoint::checkRetention(*options.retention);
    if (options.read_only)
        throw InvalidArgumentError("retention: a read_only database cannot be pruned; set one of them only");
    return options;
}

std::vector<StoredWrite> readWrites(Cursor& rows, const LogName& log, CheckpointId id) {
    std::vector<StoredWrite> writes;
    const std::string prefix = checkpoint::rowKey(Table::writes, log, id);
    for (rows.seek(prefix); rows.isIn(prefix); rows.next()) {
        writes.push_back({std::string(rows.key().substr(prefix.size())), std::string(rows.value())});
    }
    return writes;
}

// Reads the commits that lead to the tuple's checkpoint, without those of other branches. The tuple has all ancestors
// of each commit that it has, so the walk ends at the first of them. Returns false and changes nothing if a header on
// the way cannot be read; the fold reports that.
bool readBackwards(Cursor& rows, const LogName& log, CheckpointTuple& tuple, RowBuffer& buffer) {
    std::vector<StoredCommit> commits;
    auto known_end = tuple.commits.begin();
    try {
        checkpoint::walkToBase(log, tuple.id, [&](CheckpointId id) -> std::optional<std::string_view> {
            if (const auto known = checkpoint::findCommit(tuple.commits, id); known != tuple.commits.end()) {
                known_end = known + 1;
                return {};
            }
            const std::string key = checkpoint::rowKey(Table::commits, log, id);
            const bool is_before = !commits.empty() && rows.previous() && rows.key() == key;
            if (!is_before && !(rows.seek(key) && rows.key() == key)) return {};
            commits.push_back({id, buffer.add(rows.value())});
            return commits.back().bytes;
        });
    } catch (const CorruptCheckpointError&) {
        return false;
    }
    tuple.commits.erase(known_end, tuple.commits.end());
    tuple.commits.insert(tuple.commits.end(), std::move_iterator(commits.rbegin()), std::move_iterator(commits.rend()));
    return true;
}

// Reads from the first of a tuple's commits, where the cursor is, to the one that follows them.
void readCommits(Cursor& rows, const LogName& log, const checkpoint::CommitWay& tip, CheckpointTuple& tuple) {
    const std::string prefix = checkpoint::logPrefix(Table::commits, log);
    std::optional<checkpoint::ForwardWalk> walk;  // used once there are many rows
    bool takes_all = false;
    std::size_t bytes = 0;
    RowBuffer buffer;
    for (bool is_in = rows.isIn(prefix); is_in; is_in = rows.nextIn(prefix)) {
        const CheckpointId id = idAt(rows, prefix.size());
        bytes += rows.value().size();
        if (id > tuple.id) {
            tuple.next = {id, buffer.add(rows.value())};
            return;
        }
        const bool is_many =
            tuple.commits.size() >= checkpoint::unseen_rows_max || bytes > checkpoint::unseen_bytes_max;
        if (is_many && !walk) walk.emplace(log, tip, tuple.commits);
        if (walk && !takes_all && !walk->take(id, rows.value(), tuple.commits)) {
            takes_all = true;
            const bool is_read = readBackwards(rows, log, tuple, buffer);
            if (is_read && tuple.id == tuple.head) return;
            rows.seek(checkpoint::rowKey(Table::commits, log, is_read ? tuple.id : id));
            if (is_read) continue;
        }
        tuple.commits.push_back({id, buffer.add(rows.value())});
        if (id == tuple.head) return;  // there is nothing more to look for
    }
}

// Adds the pending writes to rows of one log, newest first. One walk reads all of them, because they are in the order
// of ids too.
void addWrites(Cursor& rows, const LogName& log, std::span<ListedCheckpoint> listed) {
    if (listed.empty()) return;
    const std::string prefix = checkpoint::logPrefix(Table::writes, log);
    auto at = listed.rbegin();
    for (rows.seek(checkpoint::rowKey(Table::writes, log, at->id)); rows.isIn(prefix); rows.next()) {
        const std::string_view key = rows.key().substr(prefix.size());
        if (key.size() < 16) continue;
        const CheckpointId id = CheckpointId::fromBytes(key.data());
        while (at != listed.rend() && at->id < id) ++at;
        if (at == listed.rend()) return;
        if (at->id == id) at->writes.push_back({std::string(key.substr(16)), std::string(rows.value())});
    }
}

}  // namespace

CheckpointId RocksDBSaver::Impl::readHead(const LogName& log) {
    const std::string prefix = checkpoint::logPrefix(Table::commits, log);
    Cursor rows(database, prefix, detail::prefixEnd(prefix));
    return rows.seekToLast() ? idAt(rows, prefix.size()) : CheckpointId();
}

bool RocksDBSaver::Impl::hasRows(std::string_view thread_id) {
    for (const Table table : {Table::commits, Table::writes}) {
        const std::string prefix = checkpoint::threadPrefix(table, thread_id);
        Cursor rows(database, prefix, detail::prefixEnd(prefix));
        if (rows.seekToFirst()) return true;
    }
    return false;
}

RocksDBSaver::RocksDBSaver(const std::string& path, const RocksDBSaverOptions& options)
    : impl_(std::make_unique<Impl>(path, checked(options))) {
    impl_->loadIndex();
    if (options.retention) impl_->retention = std::make_unique<checkpoint::Retention>(*this, *options.retention);
}

RocksDBSaver::~RocksDBSaver() {
    impl_->is_closing = true;
    checkpoint::endRetention(impl_->retention);  // its thread calls prune
}

std::string RocksDBSaver::droppedAtOpening() const { return impl_->database.dropped(); }
RetentionReport RocksDBSaver::retentionReport() const {
    return impl_->retention ? impl_->retention->report() : RetentionReport();
}

void RocksDBSaver::put(const PutRequest& request) {
    impl_->database.checkWritable();
    checkpoint::checkPut(request);
    std::size_t bytes = 0;
    for (const CommitRow& row : request.commits) bytes += row.bytes.size();
    for (const WriteRow& row : request.writes) bytes += row.bytes.size() + row.path.size();
    const std::size_t names = request.log.thread_id.size() + request.log.checkpoint_ns.size();
    // With room for the rows of the index: in builds with assertions, RocksDB ends the process if a batch cannot grow.
    const std::size_t rows = request.commits.size() + request.writes.size() + 8;
    rocksdb::WriteBatch batch(bytes + request.summary.size() + rows * (names + 48) + 16);
    const auto add = [&](const std::string& key, std::string_view value) {
        impl_->check(batch.Put(slice(key), slice(value)), "store a row");
    };
    for (const CommitRow& row : request.commits)
        add(checkpoint::rowKey(Table::commits, request.log, row.id), row.bytes);
    for (const WriteRow& row : request.writes) {
        add(checkpoint::rowKey(Table::writes, request.log, row.checkpoint_id, row.path), row.bytes);
    }

    // Some requests need exclusive access to their log: those that move the head, compare rows that they do not write,
    // or store what the thread waits for. The others exclude each other by row.
    const bool is_conditional =
        !request.compared.empty() ||
        std::ranges::any_of(request.writes, [](const WriteRow& row) { return row.expected.has_value(); });
    const bool is_empty = batch.Count() == 0;
    const bool says_status = request.outlook.status != Status::in_flight;
    auto claim = impl_->gate.claimLog(request.log,
                                      is_empty || !request.commits.empty() || !request.compared.empty() || says_status);
    const auto rows_held = impl_->row_locks.lock(request);
    const CheckpointId head = claim.head() ? *claim.head() : impl_->readHead(request.log);
    if (head != request.expected_head) {
        claim.settle(head);
        checkpoint::refuseHead(request.log, request.expected_head, head);
    }
    if (request.root && !impl_->has({request.log.thread_id}, request.root)) {
        claim.settle(head);
        checkpoint::refuseRoot(request);
    }
    if (is_conditional) {
        claim.settle(head);  // the head stays if a row is refused
        impl_->checkExpected(request);
    }
    checkpoint::checkAncestors(request, [&](CheckpointId id) {
        claim.settle(head);
        return impl_->has(request.log, id);
    });
    checkpoint::IndexPlace place;
    if (request.log.checkpoint_ns.empty()) place = impl_->noteInIndex(request, head, claim.place(), batch);
    if (batch.Count() > 0) impl_->writeWithIndex(batch, request.sync, request.log.thread_id, claim.place(), place);
    claim.settle(request.commits.empty() ? head : request.commits.back().id, place);
}

bool RocksDBSaver::Impl::has(const LogName& log, CheckpointId id) {
    return database.get(checkpoint::rowKey(Table::commits, log, id), "read a commit").has_value();
}

void RocksDBSaver::Impl::checkExpected(const PutRequest& request) {
    for (const std::span<const WriteRow> rows : {request.compared, request.writes}) {
        for (const WriteRow& row : rows) {
            if (!row.expected) continue;
            const std::string key = checkpoint::rowKey(Table::writes, request.log, row.checkpoint_id, row.path);
            const auto value = database.get(key, "read a pending write");
            checkpoint::checkExpected(request.log, row, value ? std::optional<std::string_view>(*value) : std::nullopt);
        }
    }
}

void RocksDBSaver::putGraph(const GraphFingerprint& fingerprint, std::string_view bytes) {
    impl_->database.checkWritable();
    const std::string key = checkpoint::graphKey(fingerprint);
    if (impl_->database.get(key, "read a graph's description") == bytes) return;
    rocksdb::WriteBatch batch;
    impl_->check(batch.Put(slice(key), slice(bytes)), "store a row");
    impl_->database.write(batch, false, "store a graph's description");
}

std::optional<std::string> RocksDBSaver::getGraph(const GraphFingerprint& fingerprint) {
    return impl_->database.get(checkpoint::graphKey(fingerprint), "read a graph's description");
}

std::optional<CheckpointTuple> RocksDBSaver::getTuple(const TupleQuery& query) {
    const std::string prefix = checkpoint::logPrefix(Table::commits, query.log);
    const std::string commits_end = detail::prefixEnd(prefix);
    // One iterator covers both tables, so that everything is read from one moment.
    Cursor rows(impl_->database, prefix, detail::prefixEnd(checkpoint::logPrefix(Table::writes, query.log)));
    const auto keyOf = [&](CheckpointId id) { return checkpoint::rowKey(Table::commits, query.log, id); };

    rows.seekBack(commits_end);
    if (!rows.isIn(prefix)) return std::nullopt;
    CheckpointTuple tuple{.id = {}, .head = idAt(rows, prefix.size()), .commits = {}, .writes = {}, .next = {}};
    if (!query.checkpoint_id.empty()) {
        const std::string key = keyOf(query.checkpoint_id);
        if (query.checkpoint_id != tuple.head && (!rows.seek(key) || rows.key() != key)) return std::nullopt;
    } else if (!query.before.empty() && tuple.head >= query.before) {
        const std::string key = keyOf(query.before);
        if (rows.seekBack(key) && rows.key() == key) rows.previous();
        if (!rows.isIn(prefix)) return std::nullopt;
    }

    tuple.id = idAt(rows, prefix.size());
    const auto tip = checkpoint::readCheckedWay({query.log.thread_id, query.log.checkpoint_ns, tuple.id}, rows.value());
    if (tip.base < tuple.id) rows.seek(keyOf(tip.base));
    readCommits(rows, query.log, tip, tuple);
    tuple.writes = readWrites(rows, query.log, tuple.id);
    return tuple;
}

void RocksDBSaver::Impl::listLog(Cursor& rows, Cursor* writes, const LogName& log, const ListQuery& query,
                                 std::vector<ListedCheckpoint>& out) {
    const std::size_t limit = query.limit.value_or(std::numeric_limits<std::size_t>::max());
    const std::string prefix = checkpoint::logPrefix(Table::commits, log);
    const std::size_t others = out.size();
    RowBuffer buffer;
    const auto add = [&](CheckpointId id) {
        out.push_back({std::string(log.thread_id), std::string(log.checkpoint_ns), id, buffer.add(rows.value()), {}});
    };
    const auto finish = [&] {
        if (writes) addWrites(*writes, log, std::span(out).subspan(others));
    };
    // When logs are walked, the cursor is at this one's oldest row. Logs with one row are common, and need no seek.
    const bool is_at_oldest = rows.isIn(prefix);
    const CheckpointId first = is_at_oldest ? idAt(rows, prefix.size()) : CheckpointId();
    if (is_at_oldest && !query.before.empty() && first >= query.before) return;
    if (is_at_oldest && !query.heads) {
        add(first);
        if (!rows.next() || !rows.isIn(prefix)) return finish();
        out.pop_back();
    }
    if (query.before.empty()) {
        rows.seekBack(detail::prefixEnd(prefix));
    } else {
        const std::string end = checkpoint::rowKey(Table::commits, log, query.before);
        if (rows.seekBack(end) && rows.key() == end) rows.previous();
    }
    for (; out.size() < limit && rows.isIn(prefix); rows.previous()) {
        add(idAt(rows, prefix.size()));
        if (query.heads) break;
    }
    finish();
}

std::vector<ListedCheckpoint> RocksDBSaver::list(const ListQuery& query) {
    const auto lowerKey = [&](Table table) {
        if (!query.thread_id) return checkpoint::tablePrefix(table);
        if (!query.checkpoint_ns) return checkpoint::threadPrefix(table, *query.thread_id);
        return checkpoint::logPrefix(table, {*query.thread_id, *query.checkpoint_ns});
    };
    const std::string lower = lowerKey(Table::commits);
    std::vector<ListedCheckpoint> listed;
    if (query.limit == std::size_t{0}) return listed;
    if (!query.thread_ids.empty() && !query.checkpoint_ns) return checkpoint::listEach(*this, query);

    std::optional<checkpoint::Snapshot> snapshot;
    std::optional<checkpoint::Database::StandStill> still;
    if (impl_->database.isFollowing()) still.emplace(impl_->database);
    std::optional<Cursor> writes;
    if (query.with_writes) {
        snapshot.emplace(impl_->database);
        const std::string writes_lower = lowerKey(Table::writes);
        writes.emplace(impl_->database, writes_lower, detail::prefixEnd(writes_lower), snapshot->get());
    }
    Cursor rows(impl_->database, lower, detail::prefixEnd(lower), snapshot ? snapshot->get() : nullptr);
    still.reset();

    if (query.thread_id && query.checkpoint_ns && !query.after_thread_id) {
        impl_->listLog(rows, writes ? &*writes : nullptr, {*query.thread_id, *query.checkpoint_ns}, query, listed);
        return listed;
    }
    for (const std::string& thread_id : query.thread_ids) {
        if (query.limit && listed.size() >= *query.limit) break;
        const LogName log{thread_id, *query.checkpoint_ns};
        rows.seek(checkpoint::logPrefix(Table::commits, log));
        impl_->listLog(rows, writes ? &*writes : nullptr, log, query, listed);
    }
    if (!query.thread_ids.empty()) return listed;
    if (query.after_thread_id) {
        rows.seek(detail::prefixEnd(checkpoint::threadPrefix(Table::commits, *query.after_thread_id)));
    } else {
        rows.seekToFirst();
    }
    while (rows.valid() && (!query.limit || listed.size() < *query.limit)) {
        // The parts are copied, because they are views and the cursor moves.
        const auto at = rows.tryParsed();
        if (!at) {  // a key that belongs to no log, which no other call looks at
            rows.next();
            continue;
        }
        const std::string thread_id(at->log.thread_id);
        const std::string ns(at->log.checkpoint_ns);
        const std::string prefix(at->log_prefix);
        if (query.checkpoint_ns && ns != *query.checkpoint_ns) {
            const std::string wanted = checkpoint::logPrefix(Table::commits, {thread_id, *query.checkpoint_ns});
            rows.seek(wanted > prefix ? wanted
                                      : detail::prefixEnd(checkpoint::threadPrefix(Table::commits, thread_id)));
            continue;
        }
        impl_->listLog(rows, writes ? &*writes : nullptr, {thread_id, ns}, query, listed);
        if (!rows.valid() || rows.key() < detail::prefixEnd(prefix)) rows.seek(detail::prefixEnd(prefix));
    }
    return listed;
}

void RocksDBSaver::copyThread(std::string_view from, std::string_view to) {
    impl_->database.checkWritable();
    checkpoint::checkCopyTarget(to);
    const auto claim = impl_->gate.claimThread(to);
    if (impl_->hasRows(to)) checkpoint::refuseCopy(from, to);
    // One batch is used, so that a partial copy is never visible. It is in memory, so its size is limited.
    rocksdb::WriteBatch batch;
    CheckpointId head;  // the head of its own log in the snapshot
    checkpoint::Snapshot snapshot(impl_->database);
    for (const Table table : {Table::commits, Table::writes}) {
        const std::string prefix = checkpoint::threadPrefix(table, from);
        std::string key = checkpoint::threadPrefix(table, to);
        const std::size_t key_prefix = key.size();
        Cursor rows(impl_->database, prefix, detail::prefixEnd(prefix), snapshot.get());
        for (rows.seekToFirst(); rows.valid(); rows.next()) {
            key.resize(key_prefix);
            key.append(rows.key().substr(prefix.size()));
            if (table == Table::commits) {
                const auto commit = checkpoint::parseKey(rows.key());
                if (commit && commit->log.checkpoint_ns.empty()) head = std::max(head, commit->id);
            }
            impl_->check(batch.Put(slice(key), slice(rows.value())), "copy a thread");
            if (batch.GetDataSize() > copy_bytes_max) {
                impl_->database.errors().fail("cannot copy thread '" + std::string(from) +
                                              "': it has more than 1 GiB; prune it first");
            }
        }
    }
    // A copy is in flight until it is read.
    if (batch.Count() == 0) return;
    impl_->addToIndex(to, {.since = head}, {}, batch);
    try {
        impl_->database.write(batch, true, "copy a thread");
    } catch (...) {
        impl_->readOpen(to);
        throw;
    }
}

}  // namespace stategraph
