#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "storage/saver/index_place.hpp"
#include "storage/sqlite/sqlite_impl.hpp"

// Keeps the index of threads, which has a row for each thread, in the transaction that stores.
namespace stategraph {
namespace checkpoint {
namespace {

constexpr const char* select_place = "SELECT status, since, due, summary FROM threads WHERE thread=?";
constexpr const char* put_place =
    "INSERT INTO threads VALUES (?1, ?2, ?3, ?5, ?4) ON CONFLICT DO UPDATE SET status=excluded.status, "
    "since=excluded.since, due=excluded.due, summary=excluded.summary";
constexpr const char* put_place_without_due =
    "INSERT INTO threads VALUES (?1, ?2, ?3, NULL, ?4) ON CONFLICT DO UPDATE SET status=excluded.status, "
    "since=excluded.since, due=NULL, summary=excluded.summary";

// An unknown number, in a row that another program wrote, counts as in flight.
Status statusOf(std::int64_t number) noexcept {
    const bool is_known = number >= 0 && number < static_cast<std::int64_t>(indexed_statuses.size());
    return is_known ? static_cast<Status>(number) : Status::in_flight;
}

}  // namespace

void noteInIndex(SqliteConnection& connection, const PutRequest& request) {
    if (!request.log.checkpoint_ns.empty()) return;
    const CheckpointId head = request.commits.empty() ? request.expected_head : request.commits.back().id;
    IndexPlace before;
    IndexPlace after;
    std::string_view summary;
    {
        SqliteQuery query(connection, select_place, "read the index of threads");
        const bool is_there = query.bind(request.log.thread_id).step();
        if (is_there) before = {query.id(1), query.number(2), statusOf(query.number(0))};
        after = IndexPlace::after(before, head, request.outlook);
        if (after.status != Status::in_flight) summary = request.summary;
        if (after == before && (!is_there || query.bytes(3) == summary)) return;
    }
    SqliteQuery query(connection, after.isSleeping() ? put_place : put_place_without_due,
                      "store a thread's place in the index");
    query.bind(request.log.thread_id).bindNumber(static_cast<std::int64_t>(after.status)).bind(after.since);
    query.bind(summary);
    if (after.isSleeping()) query.bindNumber(after.due_ms);
    query.finish();
}

}  // namespace checkpoint

namespace {

using checkpoint::IndexPlace;
using checkpoint::SqliteConnection;
using checkpoint::SqliteDatabase;
using checkpoint::SqliteQuery;

static_assert(static_cast<int>(Status::done) == 1);  // the value that is in open_threads (sqlite_tables.hpp)

// Each statement, with summaries and without.
struct Select {
    const char* with_summaries;
    const char* without;
    const char* of(bool with) const noexcept { return with ? with_summaries : without; }
};
constexpr Select select_open{
    "SELECT since, thread, due, summary FROM threads WHERE status=? AND status<>1 AND thread>=? ORDER BY thread LIMIT "
    "?",
    "SELECT since, thread, due FROM threads WHERE status=? AND status<>1 AND thread>=? ORDER BY thread LIMIT ?"};
constexpr Select select_newest_of{
    "SELECT since, thread, due, summary FROM threads WHERE status=? ORDER BY since DESC, thread DESC LIMIT ?",
    "SELECT since, thread, due FROM threads WHERE status=? ORDER BY since DESC, thread DESC LIMIT ?"};
constexpr Select select_newest_before{
    "SELECT since, thread, due, summary FROM threads WHERE status=? AND (since, thread)<(?, ?) ORDER BY since DESC, "
    "thread DESC LIMIT ?",
    "SELECT since, thread, due FROM threads WHERE status=? AND (since, thread)<(?, ?) ORDER BY since DESC, "
    "thread DESC LIMIT ?"};
constexpr const char* select_due =
    "SELECT due, thread FROM threads WHERE due<=? AND (due, thread)>(?, ?) ORDER BY due, thread LIMIT ?";
constexpr const char* count_places = "SELECT count(*) FROM (SELECT 1 FROM threads WHERE status=? LIMIT ?)";

std::int64_t limitOf(std::size_t limit) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(std::min(limit, most));
}

void takeThreads(SqliteQuery& rows, Status status, bool with_summaries, std::vector<IndexedThread>& threads) {
    while (rows.step()) {
        const IndexPlace place{rows.id(0), rows.number(2), status};
        threads.push_back({{place.since, std::string(rows.bytes(1))}, place.outlook()});
        if (with_summaries) threads.back().summary.emplace(rows.bytes(3));
    }
}

}  // namespace

std::optional<std::vector<IndexedThread>> SqliteSaver::openThreads(const OpenThreadsQuery& query) {
    std::vector<IndexedThread> open;
    if (query.limit == 0) return open;
    const std::string from = query.after_thread_id ? checkpoint::nameAfter(*query.after_thread_id) : std::string();
    const bool with_summaries = query.with_summaries;
    SqliteDatabase::Reading reading(impl_->database);
    for (const Status status : indexed_statuses) {
        if (!query.statuses.has(status)) continue;
        SqliteQuery rows(reading.connection(), select_open.of(with_summaries), "read the index of threads");
        rows.bindNumber(static_cast<std::int64_t>(status)).bind(from).bindNumber(limitOf(query.limit));
        takeThreads(rows, status, with_summaries, open);
    }
    std::ranges::sort(open, {},
                      [](const IndexedThread& thread) -> const std::string& { return thread.place.thread_id; });
    if (open.size() > query.limit) open.resize(query.limit);
    return open;
}

std::optional<std::vector<IndexedThread>> SqliteSaver::newestThreads(const NewestThreadsQuery& query) {
    std::vector<IndexedThread> newest;
    const bool with_summaries = query.with_summaries;
    SqliteDatabase::Reading reading(impl_->database);
    for (const Status status : indexed_statuses) {
        if (!query.statuses.has(status)) continue;
        const Select& select = query.before ? select_newest_before : select_newest_of;
        SqliteQuery rows(reading.connection(), select.of(with_summaries), "read the index of threads");
        rows.bindNumber(static_cast<std::int64_t>(status));
        if (query.before) rows.bind(query.before->since).bind(query.before->thread_id);
        rows.bindNumber(limitOf(query.limit));
        takeThreads(rows, status, with_summaries, newest);
    }
    std::ranges::sort(newest, std::ranges::greater{}, &IndexedThread::place);
    if (newest.size() > query.limit) newest.resize(query.limit);
    return newest;
}

std::optional<std::vector<DueThread>> SqliteSaver::dueThreads(const DueThreadsQuery& query) {
    std::vector<DueThread> due;
    SqliteDatabase::Reading reading(impl_->database);
    SqliteQuery rows(reading.connection(), select_due, "read the index of threads");
    rows.bindNumber(stategraph::times::unixMsDown(query.until));
    rows.bindNumber(query.after ? stategraph::times::unixMs(query.after->due)
                                : std::numeric_limits<std::int64_t>::min());
    rows.bind(query.after ? std::string_view(query.after->thread_id) : std::string_view(""));
    rows.bindNumber(limitOf(query.limit));
    while (rows.step()) due.push_back({stategraph::times::ofUnixMs(rows.number(0)), std::string(rows.bytes(1))});
    return due;
}

std::optional<ThreadCounts> SqliteSaver::countThreads(std::size_t most) {
    SqliteDatabase::Reading reading(impl_->database);
    ThreadCounts counts;
    for (const Status status : indexed_statuses) {
        SqliteQuery query(reading.connection(), count_places, "count threads");
        query.bindNumber(static_cast<std::int64_t>(status)).bindNumber(limitOf(most));
        if (query.step()) counts[status] = static_cast<std::size_t>(query.number(0));
    }
    return counts;
}

}  // namespace stategraph
