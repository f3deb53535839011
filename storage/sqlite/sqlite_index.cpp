#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/index_place.hpp"
#include "storage/sqlite/sqlite_impl.hpp"

// Keeps the index of threads, which has a row for each thread, in the transaction that stores.
namespace stategraph {
namespace checkpoint {
namespace {

constexpr const char* select_place = "SELECT status, since, due FROM threads WHERE thread=?";
constexpr const char* put_place =
    "INSERT INTO threads VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET status=excluded.status, since=excluded.since, "
    "due=excluded.due";
constexpr const char* put_place_without_due =
    "INSERT INTO threads VALUES (?, ?, ?, NULL) ON CONFLICT DO UPDATE SET status=excluded.status, "
    "since=excluded.since, due=NULL";

// An unknown number, in a row that another program wrote, counts as an unknown status.
ThreadStatus statusOf(std::int64_t number) noexcept {
    const bool is_known = number >= 0 && number < static_cast<std::int64_t>(all_thread_statuses.size());
    return is_known ? static_cast<ThreadStatus>(number) : ThreadStatus::unknown;
}

}  // namespace

void noteInIndex(SqliteConnection& connection, const PutRequest& request) {
    if (!request.log.checkpoint_ns.empty()) return;
    const CheckpointId head = request.commits.empty() ? request.expected_head : request.commits.back().id;
    IndexPlace before;
    {
        SqliteQuery query(connection, select_place, "read the index of threads");
        if (query.bind(request.log.thread_id).step())
            before = {query.id(1), query.number(2), statusOf(query.number(0))};
    }
    const IndexPlace after = IndexPlace::after(before, head, request.outlook);
    if (after == before) return;
    SqliteQuery query(connection, after.isSleeping() ? put_place : put_place_without_due,
                      "store a thread's place in the index");
    query.bind(request.log.thread_id).bindNumber(static_cast<std::int64_t>(after.status)).bind(after.since);
    if (after.isSleeping()) query.bindNumber(after.due_ms);
    query.finish();
}

}  // namespace checkpoint

namespace {

using checkpoint::IndexPlace;
using checkpoint::SqliteConnection;
using checkpoint::SqliteDatabase;
using checkpoint::SqliteQuery;

static_assert(static_cast<int>(ThreadStatus::finished) == 1);  // the value that is in open_threads (sqlite_tables.hpp)

constexpr const char* select_open =
    "SELECT since, thread, due FROM threads WHERE status=? AND status<>1 AND thread>=? ORDER BY thread LIMIT ?";
constexpr const char* select_newest_of =
    "SELECT since, thread, due FROM threads WHERE status=? ORDER BY since DESC, thread DESC LIMIT ?";
constexpr const char* select_newest_before =
    "SELECT since, thread, due FROM threads WHERE status=? AND (since, thread)<(?, ?) ORDER BY since DESC, "
    "thread DESC LIMIT ?";
constexpr const char* select_due =
    "SELECT due, thread FROM threads WHERE due<=? AND (due, thread)>(?, ?) ORDER BY due, thread LIMIT ?";
constexpr const char* count_places = "SELECT count(*) FROM (SELECT 1 FROM threads WHERE status=? LIMIT ?)";

std::int64_t limitOf(std::size_t limit) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(std::min(limit, most));
}

void takeThreads(SqliteQuery& rows, ThreadStatus status, std::vector<IndexedThread>& threads) {
    while (rows.step()) {
        const IndexPlace place{rows.id(0), rows.number(2), status};
        threads.push_back({{place.since, std::string(rows.bytes(1))}, place.outlook()});
    }
}

}  // namespace

std::optional<std::vector<IndexedThread>> SqliteSaver::openThreads(const OpenThreadsQuery& query) {
    std::vector<IndexedThread> open;
    if (query.limit == 0) return open;
    const std::string from = query.after_thread_id ? checkpoint::nameAfter(*query.after_thread_id) : std::string();
    SqliteDatabase::Reading reading(impl_->database);
    for (const ThreadStatus status : all_thread_statuses) {
        if (!query.statuses.has(status)) continue;
        SqliteQuery rows(reading.connection(), select_open, "read the index of threads");
        rows.bindNumber(static_cast<std::int64_t>(status)).bind(from).bindNumber(limitOf(query.limit));
        takeThreads(rows, status, open);
    }
    std::ranges::sort(open, {},
                      [](const IndexedThread& thread) -> const std::string& { return thread.place.thread_id; });
    if (open.size() > query.limit) open.resize(query.limit);
    return open;
}

std::optional<std::vector<IndexedThread>> SqliteSaver::newestThreads(const NewestThreadsQuery& query) {
    std::vector<IndexedThread> newest;
    SqliteDatabase::Reading reading(impl_->database);
    for (const ThreadStatus status : all_thread_statuses) {
        if (!query.statuses.has(status)) continue;
        SqliteQuery rows(reading.connection(), query.before ? select_newest_before : select_newest_of,
                         "read the index of threads");
        rows.bindNumber(static_cast<std::int64_t>(status));
        if (query.before) rows.bind(query.before->since).bind(query.before->thread_id);
        rows.bindNumber(limitOf(query.limit));
        takeThreads(rows, status, newest);
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
    for (const ThreadStatus status : all_thread_statuses) {
        SqliteQuery query(reading.connection(), count_places, "count threads");
        query.bindNumber(static_cast<std::int64_t>(status)).bindNumber(limitOf(most));
        if (query.step()) counts[status] = static_cast<std::size_t>(query.number(0));
    }
    return counts;
}

}  // namespace stategraph
