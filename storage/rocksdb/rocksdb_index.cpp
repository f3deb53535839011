#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/value/bytes.hpp"
#include "storage/rocksdb/rocksdb_impl.hpp"

// Updates the index of threads in the batch of what is stored, and creates it for a database of the first version.
//
// An open thread has the rows openKey and newestKey, and if it sleeps dueKey; a finished one has only newestKey, at its
// head. So the place of a thread follows from its open row and its head. A process that writes a database also has the
// open threads in memory (OpenThreads); a process that only reads uses the rows.
namespace stategraph {
namespace {

using checkpoint::Cursor;
using checkpoint::IndexPlace;
using checkpoint::slice;
using checkpoint::Table;

constexpr const char* note_work = "store a thread's place in the index";
constexpr std::size_t batch_bytes = std::size_t{4} << 20U;

// Returns the first threads in the order of listings. A thread that is there with two statuses, because it is being
// written to, is returned with the one of its newer commit.
std::vector<IndexedThread> firstNamed(std::vector<IndexedThread> threads, std::size_t limit) {
    std::vector<std::pair<std::string, std::size_t>> order;
    order.reserve(threads.size());
    for (std::size_t i = 0; i < threads.size(); ++i)
        order.emplace_back(checkpoint::openKey(Status::in_flight, threads[i].place.thread_id), i);
    std::ranges::sort(order, [&](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : threads[a.second].place.since > threads[b.second].place.since;
    });
    const auto others = std::ranges::unique(order, {}, &std::pair<std::string, std::size_t>::first);
    order.erase(others.begin(), others.end());
    if (order.size() > limit) order.resize(limit);
    std::vector<IndexedThread> first;
    first.reserve(order.size());
    for (const auto& [key, i] : order) first.push_back(std::move(threads[i]));
    return first;
}

}  // namespace

// An invalid row counts as a row of a thread in flight. The thread's other rows are skipped where they are
// found.
IndexPlace RocksDBSaver::Impl::placeOf(std::string_view thread_id, CheckpointId head) {
    if (head.empty()) return {};
    for (const Status status : indexed_statuses) {
        if (status == Status::done || !open_threads.mayHave(status, thread_id)) continue;
        const auto value = database.get(checkpoint::openKey(status, thread_id), "read the index of threads");
        if (!value) continue;
        if (const auto place = checkpoint::parseOpenValue(status, *value)) return *place;
        return {head, 0, status};
    }
    return {head, 0, Status::done};
}

void RocksDBSaver::Impl::addToIndex(std::string_view thread_id, const IndexPlace& place, std::string_view summary,
                                    rocksdb::WriteBatch& batch) {
    if (!place.isIn()) return;
    const std::string newest = checkpoint::newestKey(place.status, place.since, thread_id);
    check(batch.Put(slice(newest), slice(checkpoint::newestValue(place, summary))), note_work);
    if (!place.isOpen()) return;
    check(batch.Put(slice(checkpoint::openKey(place.status, thread_id)), slice(checkpoint::openValue(place))),
          note_work);
    if (place.isSleeping()) check(batch.Put(slice(checkpoint::dueKey(place.due_ms, thread_id)), {}), note_work);
    open_threads.add(thread_id, place);
}

void RocksDBSaver::Impl::dropFromIndex(std::string_view thread_id, const IndexPlace& place,
                                       rocksdb::WriteBatch& batch) {
    if (!place.isIn()) return;
    check(batch.Delete(slice(checkpoint::newestKey(place.status, place.since, thread_id))), note_work);
    if (place.isOpen()) check(batch.Delete(slice(checkpoint::openKey(place.status, thread_id))), note_work);
    if (place.isSleeping()) check(batch.Delete(slice(checkpoint::dueKey(place.due_ms, thread_id))), note_work);
}

void RocksDBSaver::Impl::dropFromIndex(std::string_view thread_id, rocksdb::WriteBatch& batch) {
    dropFromIndex(thread_id, placeOf(thread_id, readHead({.thread_id = thread_id})), batch);
}

IndexPlace RocksDBSaver::Impl::noteInIndex(const PutRequest& request, CheckpointId head, const IndexPlace& place,
                                           rocksdb::WriteBatch& batch) {
    const std::string_view thread_id = request.log.thread_id;
    const IndexPlace before = place.isIn() ? place : placeOf(thread_id, head);
    const CheckpointId newest = request.commits.empty() ? head : request.commits.back().id;
    const IndexPlace after = IndexPlace::after(before, newest, request.outlook);
    if (after == before) {
        noteSummary(thread_id, after, request.summary, batch);
        return after;
    }
    dropFromIndex(thread_id, before, batch);
    addToIndex(thread_id, after, request.summary, batch);
    return after;
}

// For a thread whose place stays. A thread in flight has no summary.
void RocksDBSaver::Impl::noteSummary(std::string_view thread_id, const IndexPlace& place, std::string_view summary,
                                     rocksdb::WriteBatch& batch) {
    if (!place.isIn() || place.status == Status::in_flight) return;
    const std::string key = checkpoint::newestKey(place.status, place.since, thread_id);
    const std::string value = checkpoint::newestValue(place, summary);
    if (database.get(key, "read the index of threads") != value) check(batch.Put(slice(key), slice(value)), note_work);
}

// For threads whose places came from memory, or from rows that have none.
void RocksDBSaver::Impl::readSummaries(std::vector<IndexedThread>& threads) {
    for (IndexedThread& thread : threads) {
        if (thread.summary) continue;
        thread.summary.emplace();
        const Status status = thread.outlook.status;
        if (status == Status::in_flight) continue;
        const auto value = database.get(checkpoint::newestKey(status, thread.place.since, thread.place.thread_id),
                                        "read the index of threads");
        if (!value) continue;
        if (const auto parsed = checkpoint::parseNewestValue(thread.place.since, status, *value))
            thread.summary = parsed->summary;
    }
}

void RocksDBSaver::Impl::writeWithIndex(rocksdb::WriteBatch& batch, bool sync, std::string_view thread_id,
                                        const IndexPlace& before, const IndexPlace& after) {
    if (after == before) return database.write(batch, sync, "store a commit");
    const auto noteDue = [&] {
        if (after.isSleeping()) first_due.add(after.due_ms);
    };
    try {
        database.write(batch, sync, "store a commit");
    } catch (...) {
        noteDue();  // the row may have been written in spite of the error
        readOpen(thread_id);
        throw;
    }
    noteDue();
    Statuses gone;
    for (const Status status : indexed_statuses) {
        const bool may_be = before.isIn() ? status == before.status : status != Status::done;
        if (may_be && status != after.status) gone = gone | status;
    }
    open_threads.remove(thread_id, gone);
}

// After a write that failed: what is in memory of the thread becomes what its rows say. If they cannot be read, lists
// have the thread with a status that it may not have, and its next write makes up for that.
void RocksDBSaver::Impl::readOpen(std::string_view thread_id) noexcept {
    try {
        Statuses gone;
        for (const Status status : indexed_statuses) {
            if (status == Status::done || !open_threads.mayHave(status, thread_id)) continue;
            const auto value = database.get(checkpoint::openKey(status, thread_id), "read the index of threads");
            if (!value) gone = gone | status;
            if (const auto place = value ? checkpoint::parseOpenValue(status, *value) : std::nullopt)
                open_threads.add(thread_id, *place);
        }
        open_threads.remove(thread_id, gone);
    } catch (...) {  // the failure of the write is reported
    }
}

void RocksDBSaver::Impl::loadIndex() {
    if (database.isReadOnly()) return;
    open_threads.begin();
    for (const Status status : indexed_statuses) {
        if (status == Status::done) continue;
        const std::string lower = checkpoint::openPrefix(status);
        Cursor rows(database, lower, detail::prefixEnd(lower));
        for (bool is_in = rows.seekToFirst(); is_in && open_threads.count(status); is_in = rows.next()) {
            const auto thread_id = checkpoint::parseOpenKey(rows.key());
            if (!thread_id) continue;
            auto place = checkpoint::parseOpenValue(status, rows.value());
            if (!place) place = IndexPlace{readHead({.thread_id = *thread_id}), 0, status};
            if (place->isIn()) open_threads.add(*thread_id, *place);
        }
    }
}

void RocksDBSaver::Impl::openCursors(Statuses statuses, Statuses known,
                                     std::array<std::optional<Cursor>, indexed_statuses.size()>& cursors) {
    std::optional<checkpoint::Database::StandStill> still;
    std::optional<checkpoint::Snapshot> snapshot;
    for (std::size_t i = 0; i < cursors.size(); ++i) {
        const Status status = indexed_statuses[i];
        if (status == Status::done || !statuses.has(status) || known.has(status)) continue;
        if (!still && database.isFollowing()) still.emplace(database);
        if (!snapshot) snapshot.emplace(database);
        const std::string lower = checkpoint::openPrefix(status);
        cursors[i].emplace(database, lower, detail::prefixEnd(lower), snapshot->get());
    }
}

std::optional<std::vector<IndexedThread>> RocksDBSaver::openThreads(const OpenThreadsQuery& query) {
    if (query.limit == 0) return std::vector<IndexedThread>();
    Statuses known;
    auto open = impl_->open_threads.named(query.statuses, query.after_thread_id, query.limit, known);
    // The rows of the other statuses are of one moment too.
    std::array<std::optional<Cursor>, indexed_statuses.size()> others;
    impl_->openCursors(query.statuses, known, others);
    for (std::size_t i = 0; i < others.size(); ++i) {
        if (!others[i]) continue;
        Cursor& rows = *others[i];
        const Status status = indexed_statuses[i];
        bool is_in =
            query.after_thread_id ? rows.seek(checkpoint::openKey(status, *query.after_thread_id)) : rows.seekToFirst();
        const std::size_t before = open.size();
        for (; is_in && open.size() - before < query.limit; is_in = rows.next()) {
            const auto name = checkpoint::parseOpenKey(rows.key());
            if (!name || name == query.after_thread_id) continue;
            const auto place = checkpoint::parseOpenValue(status, rows.value());
            open.push_back({{place ? place->since : CheckpointId(), std::string(*name)},
                            place ? place->outlook() : ThreadOutlook()});
        }
    }
    open = firstNamed(std::move(open), query.limit);
    if (query.with_summaries) impl_->readSummaries(open);
    return open;
}

std::optional<std::vector<IndexedThread>> RocksDBSaver::newestThreads(const NewestThreadsQuery& query) {
    std::vector<IndexedThread> newest;
    if (query.limit == 0) return newest;
    for (const Status status : indexed_statuses) {
        if (!query.statuses.has(status)) continue;
        if (status != Status::done) {
            if (auto known = impl_->open_threads.newest(status, query.before, query.limit)) {
                std::ranges::move(*known, std::back_inserter(newest));
                continue;
            }
        }
        const std::string lower = checkpoint::newestPrefix(status);
        Cursor rows(impl_->database, lower, detail::prefixEnd(lower));
        const std::string end =
            query.before ? checkpoint::newestKey(status, query.before->since, query.before->thread_id) : "";
        bool is_in = query.before ? rows.seekBack(end) : rows.seekToLast();
        if (is_in && rows.key() == end) is_in = rows.previous();
        const std::size_t others = newest.size();
        for (; is_in && newest.size() - others < query.limit; is_in = rows.previous()) {
            auto place = checkpoint::parseNewestKey(rows.key());
            if (!place) continue;
            const auto known = checkpoint::parseNewestValue(place->since, status, rows.value());
            newest.push_back({std::move(*place), known ? known->place.outlook() : ThreadOutlook()});
            if (query.with_summaries) newest.back().summary.emplace(known ? known->summary : std::string_view());
        }
    }
    std::ranges::sort(newest, std::ranges::greater{}, &IndexedThread::place);
    if (newest.size() > query.limit) newest.resize(query.limit);
    if (query.with_summaries) impl_->readSummaries(newest);
    return newest;
}

std::optional<std::vector<DueThread>> RocksDBSaver::dueThreads(const DueThreadsQuery& query) {
    std::vector<DueThread> due;
    const std::string lower(checkpoint::due_prefix);
    const checkpoint::FirstDue::Known first = impl_->first_due.known();
    Cursor rows(impl_->database, lower, detail::prefixEnd(lower));
    bool is_in = query.after ? rows.seek(checkpoint::dueKey(times::unixMs(query.after->due), query.after->thread_id))
                             : rows.seek(checkpoint::dueKey(first.ms, ""));
    bool is_first = !query.after;
    for (; is_in && due.size() < query.limit; is_in = rows.next()) {
        auto thread = checkpoint::parseDueKey(rows.key());
        if (!thread) continue;
        if (std::exchange(is_first, false) && !impl_->database.isReadOnly())
            impl_->first_due.found(first, times::unixMs(thread->due));
        if (thread->due > query.until) break;
        if (!query.after || *thread > *query.after) due.push_back(std::move(*thread));
    }
    return due;
}

std::optional<ThreadCounts> RocksDBSaver::countThreads(std::size_t most) {
    ThreadCounts counts;
    for (const Status status : indexed_statuses) {
        const auto known = status == Status::done ? std::nullopt : impl_->open_threads.count(status);
        if (known) {
            counts[status] = std::min(*known, most);
            continue;
        }
        const std::string lower = checkpoint::newestPrefix(status);
        Cursor rows(impl_->database, lower, detail::prefixEnd(lower));
        for (bool is_in = rows.seekToFirst(); is_in && counts[status] < most; is_in = rows.next()) ++counts[status];
    }
    return counts;
}

}  // namespace stategraph
