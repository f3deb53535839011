#include <stategraph/rocksdb_saver.hpp>

#include <algorithm>
#include <atomic>
#include <limits>

#include <rocksdb/db.h>
#include <rocksdb/snapshot.h>
#include <rocksdb/write_batch.h>

#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver_rules.hpp>

#include "checkpoint/log_gate.hpp"
#include "checkpoint/retention.hpp"
#include "checkpoint/rocksdb_keys.hpp"
#include "checkpoint/rocksdb_open.hpp"

// Rows are those of rocksdb_keys.cpp. All that a call stores or removes goes through one WriteBatch (a prune: one a
// thread); what a call reads comes from one iterator or one snapshot, so it is of one moment.
namespace stategraph {
namespace {

using checkpoint::LogGate;
using checkpoint::Table;

constexpr std::size_t known_heads = 100'000;
constexpr std::size_t deleted_rows_max = 20'000;
constexpr std::size_t copy_bytes_max = std::size_t{1} << 30U;
// Dropped rows are removed from the files at once if one thread's are that many, or if all that were dropped lately are a good part of
// what there is; else when RocksDB gets to it. So what is rewritten is in proportion to what is dropped, however often one prunes.
constexpr std::size_t compaction_rows_min = 50'000;
constexpr std::size_t compaction_bytes_min = std::size_t{64} << 20U;
constexpr std::size_t compaction_share = 4;
constexpr std::size_t compaction_all_bytes_min = std::size_t{1} << 20U;

const RocksDBSaverOptions& checked(const RocksDBSaverOptions& options) {
    if (!options.retention) return options;
    checkpoint::checkRetention(*options.retention);
    if (options.read_only) throw InvalidArgumentError("retention: a read_only database cannot be pruned; set one of them only");
    return options;
}

rocksdb::Slice slice(std::string_view text) noexcept { return {text.data(), text.size()}; }

// An iterator with bounds that it keeps alive, and with errors that throw.
class Cursor {
public:
    Cursor(rocksdb::DB& db, const std::string& path, std::string lower, std::string upper,
           const rocksdb::Snapshot* snapshot = nullptr)
        : path_(path), lower_(std::move(lower)), upper_(std::move(upper)), lower_slice_(lower_), upper_slice_(upper_) {
        rocksdb::ReadOptions options;
        options.iterate_lower_bound = &lower_slice_;
        options.iterate_upper_bound = &upper_slice_;
        options.snapshot = snapshot;
        rows_.reset(db.NewIterator(options));
    }
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;

    bool seek(std::string_view key) { return rows_->Seek(slice(key)), valid(); }
    bool seekBack(std::string_view key) { return rows_->SeekForPrev(slice(key)), valid(); }
    bool seekToFirst() { return rows_->SeekToFirst(), valid(); }
    bool seekToLast() { return rows_->SeekToLast(), valid(); }
    bool next() { return rows_->Next(), valid(); }
    bool previous() { return rows_->Prev(), valid(); }

    bool valid() const {
        if (rows_->Valid()) return true;
        if (const rocksdb::Status status = rows_->status(); !status.ok())
            checkpoint::failStatus(status, "read it", path_);
        return false;
    }
    std::string_view key() const { return rows_->key().ToStringView(); }
    std::string_view value() const { return rows_->value().ToStringView(); }
    bool isIn(std::string_view prefix) const { return valid() && key().starts_with(prefix); }

    checkpoint::ParsedKey parsed() const {
        if (const auto parsed = checkpoint::parseKey(key())) return *parsed;
        throw CorruptCheckpointError("the database '" + path_ + "' is damaged: it has a key that cannot be read, 0x" +
                                     rows_->key().ToString(true) + "; restore it from a copy");
    }

private:
    const std::string& path_;
    std::string lower_;
    std::string upper_;
    rocksdb::Slice lower_slice_;
    rocksdb::Slice upper_slice_;
    std::unique_ptr<rocksdb::Iterator> rows_;
};

CheckpointId idAt(const Cursor& rows, std::size_t prefix_size) {
    const std::string_view key = rows.key();
    return key.size() - prefix_size == 16 ? CheckpointId::fromBytes(key.data() + prefix_size) : rows.parsed().id;
}

std::vector<StoredWrite> readWrites(Cursor& rows, const LogName& log, CheckpointId id) {
    std::vector<StoredWrite> writes;
    const std::string prefix = checkpoint::rowKey(Table::writes, log, id);
    for (rows.seek(prefix); rows.isIn(prefix); rows.next()) {
        writes.push_back({std::string(rows.key().substr(prefix.size())), std::string(rows.value())});
    }
    return writes;
}

}  // namespace

struct RocksDBSaver::Impl {
    struct Dropped {
        std::size_t rows = 0;
        std::size_t bytes = 0;
        std::size_t commits = 0;
    };

    Impl(const std::string& folder, const RocksDBSaverOptions& options)
        : path(folder), read_only(options.read_only), db(checkpoint::openDatabase(folder, options)) {}

    void write(rocksdb::WriteBatch& batch, bool sync, const char* work);
    void checkWritable() const;
    CheckpointId readHead(const LogName& log);
    bool has(const LogName& log, CheckpointId id);
    bool hasRows(std::string_view thread_id);
    std::size_t countRows(std::string_view thread_id, std::size_t most);
    void listLog(Cursor& rows, Cursor* writes, const LogName& log, const ListQuery& query,
                 std::vector<ListedCheckpoint>& out);
    void pruneThread(std::string_view thread_id, const PruneRequest& request, Dropped& total);
    void pruneLog(Cursor& rows, Cursor& write_rows, const LogName& log, checkpoint::ThreadPrune& prune,
                  rocksdb::WriteBatch& batch, Dropped& total);
    bool isUnused(std::string_view thread_id, std::int64_t since_unix_ms);
    void drop(const std::string& key, std::size_t bytes, rocksdb::WriteBatch& batch, Dropped& total);
    void dropThread(std::string_view thread_id, rocksdb::WriteBatch& batch, Dropped& total);
    void checkExpected(const PutRequest& request);
    void compactIfWorthIt(const PruneRequest& request, const Dropped& dropped);
    void compact(const std::optional<std::string>& thread_id);

    std::string path;
    bool read_only;
    std::unique_ptr<rocksdb::DB> db;
    LogGate gate{known_heads};
    std::atomic<std::size_t> dropped_bytes{0};  // since the last compaction of everything
    std::atomic<bool> is_closing{false};
    std::unique_ptr<checkpoint::Retention> retention;
};

void RocksDBSaver::Impl::checkWritable() const {
    if (read_only) throw SaverError("the database '" + path + "' is open read_only; open it for writing");
}

void RocksDBSaver::Impl::write(rocksdb::WriteBatch& batch, bool sync, const char* work) {
    rocksdb::WriteOptions options;
    options.sync = sync;
    const rocksdb::Status status = db->Write(options, &batch);
    if (!status.ok()) checkpoint::failStatus(status, work, path);
}

std::size_t RocksDBSaver::Impl::countRows(std::string_view thread_id, std::size_t most) {
    std::size_t count = 0;
    for (const Table table : {Table::commits, Table::writes}) {
        const std::string prefix = checkpoint::threadPrefix(table, thread_id);
        Cursor rows(*db, path, prefix, checkpoint::prefixEnd(prefix));
        for (rows.seekToFirst(); rows.valid() && count < most; rows.next()) ++count;
    }
    return count;
}

CheckpointId RocksDBSaver::Impl::readHead(const LogName& log) {
    const std::string prefix = checkpoint::logPrefix(Table::commits, log);
    Cursor rows(*db, path, prefix, checkpoint::prefixEnd(prefix));
    return rows.seekToLast() ? idAt(rows, prefix.size()) : CheckpointId();
}

bool RocksDBSaver::Impl::hasRows(std::string_view thread_id) {
    for (const Table table : {Table::commits, Table::writes}) {
        const std::string prefix = checkpoint::threadPrefix(table, thread_id);
        Cursor rows(*db, path, prefix, checkpoint::prefixEnd(prefix));
        if (rows.seekToFirst()) return true;
    }
    return false;
}

RocksDBSaver::RocksDBSaver(const std::string& path, const RocksDBSaverOptions& options)
    : impl_(std::make_unique<Impl>(path, checked(options))) {
    if (options.retention) impl_->retention = std::make_unique<checkpoint::Retention>(*this, *options.retention);
}

RocksDBSaver::~RocksDBSaver() {
    impl_->is_closing = true;
    impl_->retention.reset();  // it calls prune
}

RetentionReport RocksDBSaver::retentionReport() const { return impl_->retention ? impl_->retention->report() : RetentionReport(); }

void RocksDBSaver::put(const PutRequest& request) {
    impl_->checkWritable();
    checkpoint::checkPut(request);
    std::size_t bytes = 0;
    for (const CommitRow& row : request.commits) bytes += row.bytes.size();
    for (const WriteRow& row : request.writes) bytes += row.bytes.size() + row.path.size();
    const std::size_t names = request.log.thread_id.size() + request.log.checkpoint_ns.size();
    rocksdb::WriteBatch batch(bytes + (request.commits.size() + request.writes.size()) * (names + 48) + 16);
    const auto add = [&](const std::string& key, std::string_view value) {
        const rocksdb::Status status = batch.Put(slice(key), slice(value));
        if (!status.ok()) checkpoint::failStatus(status, "store a row", impl_->path);
    };
    for (const CommitRow& row : request.commits)
        add(checkpoint::rowKey(Table::commits, request.log, row.id), row.bytes);
    for (const WriteRow& row : request.writes) {
        add(checkpoint::rowKey(Table::writes, request.log, row.checkpoint_id, row.path), row.bytes);
    }

    // Alone in its log: one that moves the head, and one that looks at rows before it writes them.
    const bool is_conditional = std::any_of(request.writes.begin(), request.writes.end(),
                                            [](const WriteRow& row) { return row.expected.has_value(); });
    auto claim = impl_->gate.claimLog(request.log, !request.commits.empty() || is_conditional);
    const CheckpointId head = claim.head() ? *claim.head() : impl_->readHead(request.log);
    if (head != request.expected_head) {
        claim.settle(head);
        checkpoint::refuseHead(request.log, request.expected_head, head);
    }
    if (is_conditional) {
        claim.settle(head);  // it stays if a row is refused
        impl_->checkExpected(request);
    }
    checkpoint::checkAncestors(request, [&](CheckpointId id) {
        claim.settle(head);
        return impl_->has(request.log, id);
    });
    if (batch.Count() > 0) impl_->write(batch, request.sync, "store a commit");
    claim.settle(request.commits.empty() ? head : request.commits.back().id);
}

bool RocksDBSaver::Impl::has(const LogName& log, CheckpointId id) {
    rocksdb::PinnableSlice row;
    const rocksdb::Status status = db->Get({}, db->DefaultColumnFamily(), slice(checkpoint::rowKey(Table::commits, log, id)), &row);
    if (!status.ok() && !status.IsNotFound()) checkpoint::failStatus(status, "read a commit", path);
    return status.ok();
}

void RocksDBSaver::Impl::checkExpected(const PutRequest& request) {
    for (const WriteRow& row : request.writes) {
        if (!row.expected) continue;
        std::string value;
        const std::string key = checkpoint::rowKey(Table::writes, request.log, row.checkpoint_id, row.path);
        const rocksdb::Status status = db->Get({}, slice(key), &value);
        if (!status.ok() && !status.IsNotFound()) checkpoint::failStatus(status, "read a pending write", path);
        checkpoint::checkExpected(request.log, row,
                                  status.ok() ? std::optional<std::string_view>(value) : std::nullopt);
    }
}

std::optional<CheckpointTuple> RocksDBSaver::getTuple(const TupleQuery& query) {
    const std::string prefix = checkpoint::logPrefix(Table::commits, query.log);
    const std::string commits_end = checkpoint::prefixEnd(prefix);
    // One iterator over both tables: all it reads is of one moment.
    Cursor rows(*impl_->db, impl_->path, prefix,
                checkpoint::prefixEnd(checkpoint::logPrefix(Table::writes, query.log)));
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
    const RecordLinks links = readLinks({query.log.thread_id, query.log.checkpoint_ns, tuple.id}, rows.value());
    if (links.base < tuple.id) rows.seek(keyOf(links.base));
    for (; rows.isIn(prefix); rows.next()) {
        const CheckpointId id = idAt(rows, prefix.size());
        StoredCommit commit{id, std::string(rows.value())};
        if (id > tuple.id) {
            tuple.next = std::move(commit);
            break;
        }
        tuple.commits.push_back(std::move(commit));
        if (id == tuple.head) break;  // no need to look beyond
    }
    tuple.writes = readWrites(rows, query.log, tuple.id);
    return tuple;
}

void RocksDBSaver::Impl::listLog(Cursor& rows, Cursor* writes, const LogName& log, const ListQuery& query,
                                 std::vector<ListedCheckpoint>& out) {
    const std::size_t limit = query.limit.value_or(std::numeric_limits<std::size_t>::max());
    const std::string prefix = checkpoint::logPrefix(Table::commits, log);
    const auto add = [&](CheckpointId id) {
        out.push_back({std::string(log.thread_id), std::string(log.checkpoint_ns), id, std::string(rows.value()),
                       writes ? readWrites(*writes, log, id) : std::vector<StoredWrite>()});
    };
    // The cursor stands on the log's oldest row. A log of one row is common, and needs no seek.
    const CheckpointId first = idAt(rows, prefix.size());
    if (!query.before.empty() && first >= query.before) return;
    if (!query.heads) {
        add(first);
        if (!rows.next() || !rows.isIn(prefix)) return;
        out.pop_back();
    }
    if (query.before.empty()) {
        rows.seekBack(checkpoint::prefixEnd(prefix));
    } else {
        const std::string end = checkpoint::rowKey(Table::commits, log, query.before);
        if (rows.seekBack(end) && rows.key() == end) rows.previous();
    }
    for (; out.size() < limit && rows.isIn(prefix); rows.previous()) {
        add(idAt(rows, prefix.size()));
        if (query.heads) return;
    }
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

    std::optional<rocksdb::ManagedSnapshot> snapshot;
    std::optional<Cursor> writes;
    if (query.with_writes) {
        snapshot.emplace(impl_->db.get());
        const std::string writes_lower = lowerKey(Table::writes);
        writes.emplace(*impl_->db, impl_->path, writes_lower, checkpoint::prefixEnd(writes_lower),
                       snapshot->snapshot());
    }
    Cursor rows(*impl_->db, impl_->path, lower, checkpoint::prefixEnd(lower),
                snapshot ? snapshot->snapshot() : nullptr);

    if (query.after_thread_id) {
        rows.seek(checkpoint::prefixEnd(checkpoint::threadPrefix(Table::commits, *query.after_thread_id)));
    } else {
        rows.seekToFirst();
    }
    while (rows.valid() && (!query.limit || listed.size() < *query.limit)) {
        // Copies: the cursor moves under the views.
        const checkpoint::ParsedKey at = rows.parsed();
        const std::string thread_id(at.log.thread_id);
        const std::string ns(at.log.checkpoint_ns);
        const std::string prefix(at.log_prefix);
        if (query.checkpoint_ns && ns != *query.checkpoint_ns) {
            const std::string wanted = checkpoint::logPrefix(Table::commits, {thread_id, *query.checkpoint_ns});
            rows.seek(wanted > prefix ? wanted
                                      : checkpoint::prefixEnd(checkpoint::threadPrefix(Table::commits, thread_id)));
            continue;
        }
        impl_->listLog(rows, writes ? &*writes : nullptr, {thread_id, ns}, query, listed);
        if (!rows.valid() || rows.key() < checkpoint::prefixEnd(prefix)) rows.seek(checkpoint::prefixEnd(prefix));
    }
    return listed;
}

void RocksDBSaver::deleteThread(std::string_view thread_id) {
    impl_->checkWritable();
    const auto claim = impl_->gate.claimThread(thread_id);
    if (!impl_->hasRows(thread_id)) return;
    rocksdb::WriteBatch batch;
    // Row by row: marks of whole ranges make every later search slower until RocksDB compacts them away, and pile up where many threads come
    // and go. Only a thread of very many rows is worth one.
    Impl::Dropped dropped;
    if (impl_->countRows(thread_id, deleted_rows_max) < deleted_rows_max) {
        impl_->dropThread(thread_id, batch, dropped);
        impl_->write(batch, true, "delete a thread");
        impl_->compactIfWorthIt({}, dropped);
        return;
    }
    for (const Table table : {Table::commits, Table::writes}) {
        const std::string prefix = checkpoint::threadPrefix(table, thread_id);
        const rocksdb::Status status = batch.DeleteRange(slice(prefix), slice(checkpoint::prefixEnd(prefix)));
        if (!status.ok()) checkpoint::failStatus(status, "delete a thread", impl_->path);
    }
    impl_->write(batch, true, "delete a thread");
}

void RocksDBSaver::copyThread(std::string_view from, std::string_view to) {
    impl_->checkWritable();
    checkpoint::checkCopyTarget(to);
    const auto claim = impl_->gate.claimThread(to);
    if (impl_->hasRows(to)) checkpoint::refuseCopy(from, to);
    // One batch, so that nobody ever sees half a copy; it is in memory, so its size has a limit.
    rocksdb::WriteBatch batch;
    rocksdb::ManagedSnapshot snapshot(impl_->db.get());
    for (const Table table : {Table::commits, Table::writes}) {
        const std::string prefix = checkpoint::threadPrefix(table, from);
        std::string key = checkpoint::threadPrefix(table, to);
        const std::size_t key_prefix = key.size();
        Cursor rows(*impl_->db, impl_->path, prefix, checkpoint::prefixEnd(prefix), snapshot.snapshot());
        for (rows.seekToFirst(); rows.valid(); rows.next()) {
            key.resize(key_prefix);
            key.append(rows.key().substr(prefix.size()));
            const rocksdb::Status status = batch.Put(slice(key), slice(rows.value()));
            if (!status.ok()) checkpoint::failStatus(status, "copy a thread", impl_->path);
            if (batch.GetDataSize() > copy_bytes_max) {
                throw SaverError("cannot copy thread '" + std::string(from) + "' in the database '" + impl_->path +
                                 "': it has more than 1 GiB; prune it first");
            }
        }
    }
    if (batch.Count() > 0) impl_->write(batch, true, "copy a thread");
}

std::size_t RocksDBSaver::prune(const PruneRequest& request) {
    impl_->checkWritable();
    checkpoint::checkPrune(request);
    Impl::Dropped total;
    if (request.thread_id) {
        impl_->pruneThread(*request.thread_id, request, total);
    } else {
        const std::string lower = checkpoint::tablePrefix(Table::commits);
        Cursor rows(*impl_->db, impl_->path, lower, checkpoint::prefixEnd(lower));
        for (rows.seekToFirst(); rows.valid() && !impl_->is_closing;) {
            const std::string thread_id(rows.parsed().log.thread_id);
            impl_->pruneThread(thread_id, request, total);
            rows.seek(checkpoint::prefixEnd(checkpoint::threadPrefix(Table::commits, thread_id)));
        }
    }
    impl_->compactIfWorthIt(request, total);
    return total.commits;
}

void RocksDBSaver::Impl::compactIfWorthIt(const PruneRequest& request, const Dropped& dropped) {
    if (dropped.rows == 0) return;
    const std::size_t lately = dropped_bytes += dropped.bytes;
    std::uint64_t tables = 0;
    std::uint64_t memory = 0;
    db->GetIntProperty(rocksdb::DB::Properties::kLiveSstFilesSize, &tables);
    db->GetIntProperty(rocksdb::DB::Properties::kCurSizeAllMemTables, &memory);
    if (lately >= compaction_all_bytes_min && lately >= (tables + memory) / compaction_share) {
        dropped_bytes = 0;
        compact({});
    } else if (request.thread_id && (dropped.rows >= compaction_rows_min || dropped.bytes >= compaction_bytes_min)) {
        compact(request.thread_id);
    }
}

void RocksDBSaver::Impl::drop(const std::string& key, std::size_t bytes, rocksdb::WriteBatch& batch, Dropped& total) {
    const rocksdb::Status status = batch.Delete(slice(key));
    if (!status.ok()) checkpoint::failStatus(status, "prune a thread", path);
    ++total.rows;
    total.bytes += key.size() + bytes;
}

// One thread at a time: its writers wait meanwhile, so nothing builds on what is being dropped.
void RocksDBSaver::Impl::pruneThread(std::string_view thread_id, const PruneRequest& request, Dropped& total) {
    const auto& since = request.threads_unused_since_unix_ms;
    const bool drops_commits = request.keep_last || request.older_than_unix_ms;
    // Writers of a thread that is in use do not wait for a look at it.
    if (!drops_commits && !isUnused(thread_id, *since)) return;
    const auto claim = gate.claimThread(thread_id);
    rocksdb::WriteBatch batch;
    Dropped dropped;
    if (since && isUnused(thread_id, *since)) {
        dropThread(thread_id, batch, dropped);
    } else if (drops_commits) {
        rocksdb::ManagedSnapshot snapshot(db.get());
        const std::string prefix = checkpoint::threadPrefix(Table::commits, thread_id);
        const std::string writes_prefix = checkpoint::threadPrefix(Table::writes, thread_id);
        Cursor rows(*db, path, prefix, checkpoint::prefixEnd(prefix), snapshot.snapshot());
        Cursor write_rows(*db, path, writes_prefix, checkpoint::prefixEnd(writes_prefix), snapshot.snapshot());
        checkpoint::ThreadPrune prune(request);
        // The root's log is first: its name is the shortest.
        for (rows.seekToFirst(); rows.valid();) {
            const std::string ns(rows.parsed().log.checkpoint_ns);
            pruneLog(rows, write_rows, {thread_id, ns}, prune, batch, dropped);
        }
    }
    if (batch.Count() > 0) write(batch, false, "prune a thread");
    total.rows += dropped.rows;
    total.bytes += dropped.bytes;
    total.commits += dropped.commits;
}

bool RocksDBSaver::Impl::isUnused(std::string_view thread_id, std::int64_t since_unix_ms) {
    rocksdb::ManagedSnapshot snapshot(db.get());
    const std::string prefix = checkpoint::threadPrefix(Table::commits, thread_id);
    const std::string writes_prefix = checkpoint::threadPrefix(Table::writes, thread_id);
    Cursor rows(*db, path, prefix, checkpoint::prefixEnd(prefix), snapshot.snapshot());
    Cursor write_rows(*db, path, writes_prefix, checkpoint::prefixEnd(writes_prefix), snapshot.snapshot());
    checkpoint::ThreadUse use(since_unix_ms);
    rows.seekToFirst();
    while (rows.valid()) {
        const std::string ns(rows.parsed().log.checkpoint_ns);
        const std::string log_end = checkpoint::prefixEnd(checkpoint::logPrefix(Table::commits, {thread_id, ns}));
        rows.seekBack(log_end);
        const CheckpointId head = rows.parsed().id;
        use.add(ns, head, readLinks({thread_id, ns, head}, rows.value()), [&] {
            const std::string log_prefix = checkpoint::logPrefix(Table::writes, {thread_id, ns});
            for (write_rows.seek(log_prefix); write_rows.isIn(log_prefix); write_rows.next()) {
                const checkpoint::ParsedKey key = write_rows.parsed();
                if (hasOpenInterrupt({thread_id, ns, key.id, key.path}, write_rows.value())) return true;
            }
            return false;
        });
        if (use.isUsed()) return false;
        rows.seek(log_end);
    }
    return !use.isUsed();
}

// Row by row: marks for whole ranges are cheap one by one and slow every read down once they are many.
void RocksDBSaver::Impl::dropThread(std::string_view thread_id, rocksdb::WriteBatch& batch, Dropped& total) {
    for (const Table table : {Table::commits, Table::writes}) {
        const std::string prefix = checkpoint::threadPrefix(table, thread_id);
        Cursor rows(*db, path, prefix, checkpoint::prefixEnd(prefix));
        for (rows.seekToFirst(); rows.valid(); rows.next()) {
            drop(std::string(rows.key()), rows.value().size(), batch, total);
            total.commits += table == Table::commits;
        }
    }
}

// Leaves the cursor behind the log.
void RocksDBSaver::Impl::pruneLog(Cursor& rows, Cursor& write_rows, const LogName& log, checkpoint::ThreadPrune& prune,
                                  rocksdb::WriteBatch& batch, Dropped& total) {
    const std::string prefix = checkpoint::logPrefix(Table::commits, log);
    const std::string writes_prefix = checkpoint::logPrefix(Table::writes, log);

    checkpoint::LogLinks links{.checkpoint_ns = log.checkpoint_ns, .commits = {}, .interrupted = {}};
    for (; rows.isIn(prefix); rows.next()) {
        const CheckpointId id = idAt(rows, prefix.size());
        const RecordLinks record = readLinks({log.thread_id, log.checkpoint_ns, id}, rows.value());
        links.commits.push_back({id, record.parent, record.base, record.root, rows.value().size()});
    }
    for (write_rows.seek(writes_prefix); write_rows.isIn(writes_prefix); write_rows.next()) {
        const checkpoint::ParsedKey key = write_rows.parsed();
        const RowKey row{log.thread_id, log.checkpoint_ns, key.id, key.path};
        if (hasOpenInterrupt(row, write_rows.value())) links.interrupted.push_back(key.id);
    }

    const auto [dropped, rewritten] = prune.plan(links, [&](CheckpointId id) {
        std::string record;
        const rocksdb::Status status = db->Get({}, slice(checkpoint::rowKey(Table::commits, log, id)), &record);
        if (!status.ok()) checkpoint::failStatus(status, "read a commit", path);
        return record;
    });
    if (dropped.empty()) return;
    const bool is_whole = dropped.size() == links.commits.size();
    const auto sizeOf = [&links, place = std::size_t{0}](CheckpointId id) mutable {
        while (links.commits[place].id != id) ++place;
        return links.commits[place].bytes;
    };
    for (auto size = sizeOf; const CheckpointId id : dropped) {
        drop(checkpoint::rowKey(Table::commits, log, id), size(id), batch, total);
    }
    for (auto size = sizeOf; const StoredCommit& commit : rewritten) {
        const rocksdb::Status status = batch.Put(slice(checkpoint::rowKey(Table::commits, log, commit.id)), slice(commit.bytes));
        if (!status.ok()) checkpoint::failStatus(status, "prune a thread", path);
        total.bytes += size(commit.id);  // of the old row
    }
    for (write_rows.seek(writes_prefix); write_rows.isIn(writes_prefix); write_rows.next()) {
        if (is_whole || std::binary_search(dropped.begin(), dropped.end(), write_rows.parsed().id)) {
            drop(std::string(write_rows.key()), write_rows.value().size(), batch, total);
        }
    }
    total.commits += dropped.size();
}

std::optional<std::uint64_t> RocksDBSaver::storedBytes() {
    std::uint64_t tables = 0;
    if (!impl_->db->GetIntProperty(rocksdb::DB::Properties::kLiveSstFilesSize, &tables)) return std::nullopt;
    rocksdb::VectorLogPtr logs;
    const rocksdb::Status status = impl_->db->GetSortedWalFiles(logs);
    if (!status.ok()) checkpoint::failStatus(status, "list its log files", impl_->path);
    std::uint64_t total = tables;
    for (const auto& log : logs) total += log->SizeFileBytes();
    return total;
}

void RocksDBSaver::Impl::compact(const std::optional<std::string>& thread_id) {
    rocksdb::CompactRangeOptions options;
    options.canceled = &is_closing;
    // Else a lone file is moved down as it is, marks of deletion and all.
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
    for (const Table table : {Table::commits, Table::writes}) {
        const std::string lower =
            thread_id ? checkpoint::threadPrefix(table, *thread_id) : checkpoint::tablePrefix(table);
        const std::string upper = checkpoint::prefixEnd(lower);
        const rocksdb::Slice begin = slice(lower);
        const rocksdb::Slice end = slice(upper);
        const rocksdb::Status status = db->CompactRange(options, &begin, &end);
        if (is_closing) return;
        if (!status.ok()) checkpoint::failStatus(status, "compact it", path);
    }
}

}  // namespace stategraph
