#include <algorithm>
#include <chrono>
#include <deque>

#include <stategraph/record.hpp>

#include "src/value/bytes.hpp"
#include "storage/rocksdb/rocksdb_impl.hpp"
#include "storage/saver/damaged.hpp"

// Deletes and prunes threads, and returns space.
namespace stategraph {
namespace {

using checkpoint::Cursor;
using checkpoint::idAt;
using checkpoint::slice;
using checkpoint::Table;

constexpr std::size_t deleted_rows_max = 20'000;
// Dropped rows are removed from the files immediately if this many belong to one thread, or if those that were dropped
// lately are a large part of all rows; otherwise they are removed when RocksDB compacts. So the work is in proportion
// to what is dropped, however often prunes run.
constexpr std::size_t compaction_rows_min = 50'000;
constexpr std::size_t compaction_bytes_min = std::size_t{64} << 20U;
constexpr std::size_t compaction_share = 4;
constexpr std::size_t compaction_all_bytes_min = std::size_t{1} << 20U;

}  // namespace

std::size_t RocksDBSaver::Impl::countRows(std::string_view thread_id, std::size_t most) {
    std::size_t count = 0;
    for (const Table table : {Table::commits, Table::writes}) {
        const std::string prefix = checkpoint::threadPrefix(table, thread_id);
        Cursor rows(database, prefix, detail::prefixEnd(prefix));
        for (rows.seekToFirst(); rows.valid() && count < most; rows.next()) ++count;
    }
    return count;
}

void RocksDBSaver::deleteThread(std::string_view thread_id) {
    impl_->database.checkWritable();
    Impl::Dropped dropped;
    {
        const auto claim = impl_->gate.claimThread(thread_id);
        const std::size_t rows = impl_->countRows(thread_id, deleted_rows_max);
        if (rows == 0) return;
        rocksdb::WriteBatch batch;
        if (rows < deleted_rows_max) {
            impl_->dropThread(thread_id, batch, dropped);
        } else {
            impl_->dropRanges(thread_id, batch);
        }
        impl_->database.write(batch, true, "delete a thread");
        impl_->open_threads.remove(thread_id, Statuses::open());
    }
    impl_->compactIfWorthIt({}, dropped);
}

std::size_t RocksDBSaver::prune(const PruneRequest& request) {
    impl_->database.checkWritable();
    checkpoint::checkPrune(request);
    Impl::Dropped total;
    if (request.thread_id) {
        impl_->pruneThread(*request.thread_id, request, total);
    } else {
        const std::string lower = checkpoint::tablePrefix(Table::commits);
        Cursor rows(impl_->database, lower, detail::prefixEnd(lower));
        for (rows.seekToFirst(); rows.valid() && !impl_->is_closing;) {
            const auto at = rows.tryParsed();
            if (!at) {  // the row belongs to no thread
                checkpoint::pruneOrNote(request, {}, [&] { (void)rows.parsed(); });
                rows.next();
                continue;
            }
            const std::string thread_id(at->log.thread_id);
            checkpoint::pruneOrNote(request, thread_id, [&] { impl_->pruneThread(thread_id, request, total); });
            rows.seek(detail::prefixEnd(checkpoint::threadPrefix(Table::commits, thread_id)));
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
    const auto db = database.lease();
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
    check(batch.Delete(slice(key)), "prune a thread");
    ++total.rows;
    total.bytes += key.size() + bytes;
}

// Prunes one thread at a time. Its writers wait meanwhile, so nothing builds on what is being dropped.
void RocksDBSaver::Impl::pruneThread(std::string_view thread_id, const PruneRequest& request, Dropped& total) {
    const auto& since = request.threads_unused_since;
    const bool drops_commits = checkpoint::dropsCommits(request);
    // If the thread is in use, this check does not make its writers wait.
    if (!drops_commits && !isUnused(thread_id, *since)) return;
    const auto claim = gate.claimThread(thread_id);
    rocksdb::WriteBatch batch;
    Dropped dropped;
    const bool drops_thread = since && isUnused(thread_id, *since);
    if (drops_thread) {
        dropThread(thread_id, batch, dropped);
    } else if (drops_commits) {
        checkpoint::Snapshot snapshot(database);
        const std::string prefix = checkpoint::threadPrefix(Table::commits, thread_id);
        const std::string writes_prefix = checkpoint::threadPrefix(Table::writes, thread_id);
        Cursor rows(database, prefix, detail::prefixEnd(prefix), snapshot.get());
        Cursor write_rows(database, writes_prefix, detail::prefixEnd(writes_prefix), snapshot.get());
        // The root's log is first, because its name is the shortest.
        std::deque<std::string> names;
        std::vector<checkpoint::LogLinks> logs;
        for (rows.seekToFirst(); rows.valid();) {
            names.emplace_back(rows.parsed().log.checkpoint_ns);
            logs.push_back(readLog(rows, write_rows, {thread_id, names.back()}));
        }
        const auto read = [&](std::string_view ns, CheckpointId id) {
            auto record =
                database.get(checkpoint::rowKey(Table::commits, {thread_id, ns}, id), "read a commit", snapshot.get());
            if (!record)
                database.errors().failDamaged("a commit that is listed cannot be found; restore it from a copy");
            return std::move(*record);
        };
        const std::vector<checkpoint::LogPlan> plans = checkpoint::ThreadPrune(request).plan(logs, read);
        for (std::size_t i = 0; i < logs.size(); ++i) pruneLog(write_rows, logs[i], plans[i], batch, dropped);
    }
    if (batch.Count() > 0) database.write(batch, false, "prune a thread");
    if (drops_thread) open_threads.remove(thread_id, Statuses::open());
    total.rows += dropped.rows;
    total.bytes += dropped.bytes;
    total.commits += dropped.commits;
}

bool RocksDBSaver::Impl::isUnused(std::string_view thread_id, std::chrono::system_clock::time_point since) {
    checkpoint::Snapshot snapshot(database);
    const std::string prefix = checkpoint::threadPrefix(Table::commits, thread_id);
    const std::string writes_prefix = checkpoint::threadPrefix(Table::writes, thread_id);
    Cursor rows(database, prefix, detail::prefixEnd(prefix), snapshot.get());
    Cursor write_rows(database, writes_prefix, detail::prefixEnd(writes_prefix), snapshot.get());
    checkpoint::ThreadUse use(since);
    rows.seekToFirst();
    while (rows.valid()) {
        const std::string ns(rows.parsed().log.checkpoint_ns);
        const std::string log_end = detail::prefixEnd(checkpoint::logPrefix(Table::commits, {thread_id, ns}));
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

// Used for a thread with very many rows. Others are deleted row by row: marks of whole ranges make every later search
// slower until RocksDB compacts them away, and accumulate if many threads come and go.
void RocksDBSaver::Impl::dropRanges(std::string_view thread_id, rocksdb::WriteBatch& batch) {
    for (const Table table : {Table::commits, Table::writes}) {
        const std::string prefix = checkpoint::threadPrefix(table, thread_id);
        check(batch.DeleteRange(slice(prefix), slice(detail::prefixEnd(prefix))), "delete a thread");
    }
    dropFromIndex(thread_id, batch);
}

void RocksDBSaver::Impl::dropThread(std::string_view thread_id, rocksdb::WriteBatch& batch, Dropped& total) {
    for (const Table table : {Table::commits, Table::writes}) {
        const std::string prefix = checkpoint::threadPrefix(table, thread_id);
        Cursor rows(database, prefix, detail::prefixEnd(prefix));
        for (rows.seekToFirst(); rows.valid(); rows.next()) {
            drop(std::string(rows.key()), rows.value().size(), batch, total);
            total.commits += table == Table::commits;
        }
    }
    dropFromIndex(thread_id, batch);
}

// Leaves the cursor of commits after the log.
checkpoint::LogLinks RocksDBSaver::Impl::readLog(Cursor& rows, Cursor& write_rows, const LogName& log) {
    const std::string prefix = checkpoint::logPrefix(Table::commits, log);
    const std::string writes_prefix = checkpoint::logPrefix(Table::writes, log);

    checkpoint::LogLinks links{
        .checkpoint_ns = log.checkpoint_ns, .commits = {}, .interrupted = {}, .thread_id = log.thread_id};
    for (; rows.isIn(prefix); rows.next()) {
        const CheckpointId id = idAt(rows, prefix.size());
        links.commits.push_back(checkpoint::linksOf(id, readLinks({log.thread_id, log.checkpoint_ns, id}, rows.value()),
                                                    rows.value().size()));
    }
    for (write_rows.seek(writes_prefix); write_rows.isIn(writes_prefix); write_rows.next()) {
        const checkpoint::ParsedKey key = write_rows.parsed();
        const RowKey row{log.thread_id, log.checkpoint_ns, key.id, key.path};
        if (hasOpenInterrupt(row, write_rows.value())) links.interrupted.push_back(key.id);
    }
    return links;
}

void RocksDBSaver::Impl::pruneLog(Cursor& write_rows, const checkpoint::LogLinks& links,
                                  const checkpoint::LogPlan& plan, rocksdb::WriteBatch& batch, Dropped& total) {
    const auto& dropped = plan.dropped;
    const auto& rewritten = plan.rewritten;
    if (dropped.empty()) return;
    const LogName log{links.thread_id, links.checkpoint_ns};
    const std::string writes_prefix = checkpoint::logPrefix(Table::writes, log);
    const bool is_whole = dropped.size() == links.commits.size();
    const auto sizeOf = [&links, place = std::size_t{0}](CheckpointId id) mutable {
        while (links.commits[place].id != id) ++place;
        return links.commits[place].bytes;
    };
    for (auto size = sizeOf; const CheckpointId id : dropped) {
        drop(checkpoint::rowKey(Table::commits, log, id), size(id), batch, total);
    }
    for (auto size = sizeOf; const StoredCommit& commit : rewritten) {
        check(batch.Put(slice(checkpoint::rowKey(Table::commits, log, commit.id)), slice(commit.bytes)),
              "prune a thread");
        total.bytes += size(commit.id);  // size of the old row
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
    const auto db = impl_->database.lease();
    if (!db->GetIntProperty(rocksdb::DB::Properties::kLiveSstFilesSize, &tables)) return std::nullopt;
    rocksdb::VectorLogPtr logs;
    impl_->check(db->GetSortedWalFiles(logs), "list its log files");
    std::uint64_t total = tables;
    for (const auto& log : logs) total += log->SizeFileBytes();
    return total;
}

void RocksDBSaver::Impl::compact(const std::optional<std::string>& thread_id) {
    rocksdb::CompactRangeOptions options;
    options.canceled = &is_closing;
    // Otherwise, RocksDB would move a single file down as it is, with all marks of deletion.
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
    for (const Table table : {Table::commits, Table::writes}) {
        const std::string lower =
            thread_id ? checkpoint::threadPrefix(table, *thread_id) : checkpoint::tablePrefix(table);
        const std::string upper = detail::prefixEnd(lower);
        const rocksdb::Slice begin = slice(lower);
        const rocksdb::Slice end = slice(upper);
        const rocksdb::Status status = database.lease()->CompactRange(options, &begin, &end);
        // The rows are dropped already. If the disk has no room for new tables, RocksDB compacts later.
        if (is_closing || status.IsIOError()) return;
        check(status, "compact it");
    }
}

}  // namespace stategraph
