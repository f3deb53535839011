#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/index_place.hpp"
#include "storage/sqlite/sqlite_impl.hpp"

// The index of threads: a row a thread, kept in the transaction of what is stored.
namespace stategraph {
namespace checkpoint {
namespace {

constexpr const char* select_place = "SELECT finished, since FROM threads WHERE thread=?";
constexpr const char* put_place =
    "INSERT INTO threads VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET finished=excluded.finished, since=excluded.since";

}  // namespace

void noteInIndex(SqliteConnection& connection, const PutRequest& request) {
    if (!request.log.checkpoint_ns.empty()) return;
    const bool is_empty = request.commits.empty() && request.writes.empty();
    if (is_empty && !request.leaves_finished) return;
    const CheckpointId head = request.commits.empty() ? request.expected_head : request.commits.back().id;
    IndexPlace before;
    {
        SqliteQuery query(connection, select_place, "read the index of threads");
        if (query.bind(request.log.thread_id).step()) before = {query.id(1), query.number(0) != 0};
    }
    const IndexPlace after = IndexPlace::after(before, head, request.leaves_finished);
    if (after == before) return;
    SqliteQuery query(connection, put_place, "store a thread's place in the index");
    query.bind(request.log.thread_id).bindNumber(after.is_finished ? 1 : 0).bind(after.since).finish();
}

}  // namespace checkpoint

namespace {

using checkpoint::SqliteConnection;
using checkpoint::SqliteDatabase;
using checkpoint::SqliteQuery;

constexpr const char* select_open = "SELECT thread FROM threads WHERE finished=0 AND thread>=? ORDER BY thread LIMIT ?";
constexpr const char* select_newest_of =
    "SELECT since, thread FROM threads WHERE finished=? ORDER BY since DESC, thread DESC LIMIT ?";
constexpr const char* select_newest_before =
    "SELECT since, thread FROM threads WHERE finished=? AND (since, thread)<(?, ?) ORDER BY since DESC, thread DESC "
    "LIMIT ?";
constexpr const char* count_places = "SELECT count(*) FROM (SELECT 1 FROM threads WHERE finished=? LIMIT ?)";

std::int64_t limitOf(std::size_t limit) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(std::min(limit, most));
}

}  // namespace

std::optional<std::vector<std::string>> SqliteSaver::openThreads(const std::optional<std::string>& after_thread_id,
                                                                 std::size_t limit) {
    std::vector<std::string> names;
    const std::string from = after_thread_id ? checkpoint::nameAfter(*after_thread_id) : std::string();
    SqliteDatabase::Reading reading(impl_->database);
    SqliteQuery query(reading.connection(), select_open, "read the index of threads");
    query.bind(from).bindNumber(limitOf(limit));
    while (query.step()) names.emplace_back(query.bytes(0));
    return names;
}

std::optional<std::vector<IndexedThread>> SqliteSaver::newestThreads(const NewestThreadsQuery& query) {
    std::vector<IndexedThread> newest;
    SqliteDatabase::Reading reading(impl_->database);
    for (const bool is_finished : {false, true}) {
        if (query.is_finished && *query.is_finished != is_finished) continue;
        SqliteQuery rows(reading.connection(), query.before ? select_newest_before : select_newest_of,
                         "read the index of threads");
        rows.bindNumber(is_finished ? 1 : 0);
        if (query.before) rows.bind(query.before->since).bind(query.before->thread_id);
        rows.bindNumber(limitOf(query.limit));
        while (rows.step()) newest.push_back({{rows.id(0), std::string(rows.bytes(1))}, is_finished});
    }
    std::ranges::sort(newest, std::ranges::greater{}, &IndexedThread::place);
    if (newest.size() > query.limit) newest.resize(query.limit);
    return newest;
}

std::optional<ThreadCounts> SqliteSaver::countThreads(std::size_t most) {
    SqliteDatabase::Reading reading(impl_->database);
    const auto count = [&](bool is_finished) {
        SqliteQuery query(reading.connection(), count_places, "count threads");
        return query.bindNumber(is_finished ? 1 : 0).bindNumber(limitOf(most)).step()
                   ? static_cast<std::size_t>(query.number(0))
                   : std::size_t{0};
    };
    return ThreadCounts{count(false), count(true)};
}

}  // namespace stategraph
