#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "src/value/bytes.hpp"
#include "storage/rocksdb/rocksdb_impl.hpp"

// The index of threads: kept in the batch of what is stored, made anew for a database of the first version.
//
// An open thread has two rows, openKey and newestKey; a finished one has newestKey alone, at its head. So where a
// thread is follows from whether it has an open row, and from its head. Who writes a database has the open ones in
// memory too (OpenThreads); who reads it has the rows.
namespace stategraph {
namespace {

using checkpoint::Cursor;
using checkpoint::IndexPlace;
using checkpoint::slice;
using checkpoint::Table;

constexpr const char* note_work = "store a thread's place in the index";
constexpr std::size_t batch_bytes = std::size_t{4} << 20U;

std::string bytesOf(CheckpointId id) {
    std::string bytes(16, '\0');
    id.toBytes(bytes.data());
    return bytes;
}

// What an open row says; of one that makes no sense, what `head` returns.
template <class Head>
CheckpointId sinceOf(std::string_view value, Head head) {
    return value.size() == 16 ? CheckpointId::fromBytes(value.data()) : head();
}

}  // namespace

IndexPlace RocksDBSaver::Impl::placeOf(std::string_view thread_id, CheckpointId head) {
    if (head.empty()) return {};
    const auto since = database.get(checkpoint::openKey(thread_id), "read the index of threads");
    if (!since) return {head, true};
    return {sinceOf(*since, [&] { return head; }), false};
}

void RocksDBSaver::Impl::addToIndex(std::string_view thread_id, const IndexPlace& place, rocksdb::WriteBatch& batch) {
    if (!place.isIn()) return;
    const std::string newest = checkpoint::newestKey(place.is_finished, place.since, thread_id);
    check(batch.Put(slice(newest), {}), note_work);
    if (place.is_finished) return;
    check(batch.Put(slice(checkpoint::openKey(thread_id)), slice(bytesOf(place.since))), note_work);
    open_threads.add(thread_id, place.since);
}

void RocksDBSaver::Impl::dropFromIndex(std::string_view thread_id, const IndexPlace& place,
                                       rocksdb::WriteBatch& batch) {
    if (!place.isIn()) return;
    check(batch.Delete(slice(checkpoint::newestKey(place.is_finished, place.since, thread_id))), note_work);
    if (!place.is_finished) check(batch.Delete(slice(checkpoint::openKey(thread_id))), note_work);
}

void RocksDBSaver::Impl::dropFromIndex(std::string_view thread_id, rocksdb::WriteBatch& batch) {
    dropFromIndex(thread_id, placeOf(thread_id, readHead({.thread_id = thread_id})), batch);
}

IndexPlace RocksDBSaver::Impl::noteInIndex(const PutRequest& request, CheckpointId head, const IndexPlace& place,
                                           rocksdb::WriteBatch& batch) {
    const std::string_view thread_id = request.log.thread_id;
    const IndexPlace before = place.isIn() ? place : placeOf(thread_id, head);
    const CheckpointId newest = request.commits.empty() ? head : request.commits.back().id;
    const IndexPlace after = IndexPlace::after(before, newest, request.leaves_finished);
    if (after == before) return after;
    dropFromIndex(thread_id, before, batch);
    addToIndex(thread_id, after, batch);
    return after;
}

// All threads are open at first: who looks for those finds out which are finished, and says so. The version is written
// last, so a process that dies meanwhile leaves a database of the old one, and this begins again.
void RocksDBSaver::Impl::makeIndex() {
    const std::string version = database.get(checkpoint::format_key, "read its format version").value_or("");
    if (version == std::to_string(checkpoint::key_format_version)) return;
    has_index = !database.isReadOnly();
    if (!has_index) return;
    rocksdb::WriteBatch batch;
    for (const std::string_view prefix : {checkpoint::open_prefix, checkpoint::newest_prefix})
        check(batch.DeleteRange(slice(prefix), slice(detail::prefixEnd(std::string(prefix)))), note_work);
    const std::string lower = checkpoint::tablePrefix(Table::commits);
    Cursor rows(database, lower, detail::prefixEnd(lower));
    for (rows.seekToFirst(); rows.valid();) {
        const auto at = rows.tryParsed();
        if (!at) {  // nobody's row
            rows.next();
            continue;
        }
        const std::string thread_id(at->log.thread_id);
        if (at->log.checkpoint_ns.empty()) {
            const std::string prefix(at->log_prefix);
            rows.seekBack(detail::prefixEnd(prefix));
            if (rows.isIn(prefix)) addToIndex(thread_id, {checkpoint::idAt(rows, prefix.size()), false}, batch);
        }
        rows.seek(detail::prefixEnd(checkpoint::threadPrefix(Table::commits, thread_id)));
        if (batch.GetDataSize() < batch_bytes) continue;
        database.write(batch, false, note_work);
        batch.Clear();
    }
    check(batch.Put(slice(checkpoint::format_key), std::to_string(checkpoint::key_format_version)), note_work);
    database.write(batch, true, note_work);
}

void RocksDBSaver::Impl::loadIndex() {
    if (database.isReadOnly()) return;
    open_threads.begin();
    const std::string lower(checkpoint::open_prefix);
    Cursor rows(database, lower, detail::prefixEnd(lower));
    for (bool is_in = rows.seekToFirst(); is_in; is_in = rows.next()) {
        const auto thread_id = checkpoint::parseOpenKey(rows.key());
        if (!thread_id) continue;
        const CheckpointId since = sinceOf(rows.value(), [&] { return readHead({.thread_id = *thread_id}); });
        if (!since.empty()) open_threads.add(*thread_id, since);
    }
}

std::optional<std::vector<std::string>> RocksDBSaver::openThreads(const std::optional<std::string>& after_thread_id,
                                                                  std::size_t limit) {
    if (!impl_->has_index) return {};
    if (auto known = impl_->open_threads.names(after_thread_id, limit)) return known;
    std::vector<std::string> names;
    const std::string lower(checkpoint::open_prefix);
    Cursor rows(impl_->database, lower, detail::prefixEnd(lower));
    bool is_in = after_thread_id ? rows.seek(checkpoint::openKey(*after_thread_id)) : rows.seekToFirst();
    for (; is_in && names.size() < limit; is_in = rows.next()) {
        const auto name = checkpoint::parseOpenKey(rows.key());
        if (name && name != after_thread_id) names.emplace_back(*name);
    }
    return names;
}

std::optional<std::vector<IndexedThread>> RocksDBSaver::newestThreads(const NewestThreadsQuery& query) {
    if (!impl_->has_index) return {};
    std::vector<IndexedThread> newest;
    for (const bool is_finished : {false, true}) {
        if (query.is_finished && *query.is_finished != is_finished) continue;
        if (auto known = is_finished ? std::nullopt : impl_->open_threads.newest(query.before, query.limit)) {
            for (ThreadPlace& place : *known) newest.push_back({std::move(place), false});
            continue;
        }
        const std::string lower = checkpoint::newestPrefix(is_finished);
        Cursor rows(impl_->database, lower, detail::prefixEnd(lower));
        const std::string end =
            query.before ? checkpoint::newestKey(is_finished, query.before->since, query.before->thread_id) : "";
        bool is_in = query.before ? rows.seekBack(end) : rows.seekToLast();
        if (is_in && rows.key() == end) is_in = rows.previous();
        const std::size_t others = newest.size();
        for (; is_in && newest.size() - others < query.limit; is_in = rows.previous()) {
            auto place = checkpoint::parseNewestKey(rows.key());
            if (place) newest.push_back({std::move(*place), is_finished});
        }
    }
    std::ranges::sort(newest, std::ranges::greater{}, &IndexedThread::place);
    if (newest.size() > query.limit) newest.resize(query.limit);
    return newest;
}

std::optional<ThreadCounts> RocksDBSaver::countThreads(std::size_t most) {
    if (!impl_->has_index) return {};
    const auto count = [&](bool is_finished) {
        const std::string lower = checkpoint::newestPrefix(is_finished);
        Cursor rows(impl_->database, lower, detail::prefixEnd(lower));
        std::size_t counted = 0;
        for (bool is_in = rows.seekToFirst(); is_in && counted < most; is_in = rows.next()) ++counted;
        return counted;
    };
    const std::optional<std::size_t> open = impl_->open_threads.size();
    return ThreadCounts{open ? std::min(*open, most) : count(false), count(true)};
}

}  // namespace stategraph
