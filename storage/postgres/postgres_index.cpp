#include "storage/postgres/postgres_index.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/postgres_saver.hpp>

#include "src/value/times.hpp"
#include "storage/postgres/postgres_impl.hpp"
#include "storage/saver/index_place.hpp"

namespace stategraph {
namespace checkpoint {

// The statement touches no row whose place stays, and a statement that began earlier does not move a row back.
std::string postgresIndexUpdate(std::string_view from, std::string_view which, std::string_view before,
                                std::string_view head, std::string_view status, std::string_view due,
                                std::string_view second_ago, std::string_view summary) {
    const std::string old(before);
    const std::string now(head);
    const std::string is(status);
    const std::string wakes(due);
    const std::string tells(summary);
    std::string sql =
        "UPDATE {S}.logs l SET status = " + is + ", since = " + now + ", due = " + wakes + ", summary = " + tells + " ";
    if (!from.empty()) sql += "FROM " + std::string(from) + " ";
    return sql + "WHERE " + std::string(which) + " AND (" + old + ".since IS NULL OR ((" + old + ".status <> 0 OR " +
           is + " <> 0 OR " + old + ".since < " + std::string(second_ago) + ") AND (" + old + ".status <> " + is +
           " OR " + old + ".since <> " + now + " OR " + old + ".due IS DISTINCT FROM " + wakes + " OR " + old +
           ".summary IS DISTINCT FROM " + tells + "))) AND (l.since IS NULL OR l.since <= " + now + ")";
}

CheckpointId placeKeptFrom(CheckpointId head) noexcept {
    const std::uint64_t made_at = head.high() >> 16U;
    return {(made_at - std::min<std::uint64_t>(made_at, 999)) << 16U, 0};
}

}  // namespace checkpoint

namespace {

using checkpoint::IndexPlace;
using checkpoint::PostgresConnection;
using checkpoint::PostgresParameters;

static_assert(static_cast<int>(Status::done) == 1);  // the value that is in the tables (postgres_tables.hpp)

constexpr const char* reading_index = "read the index of threads";

// An unknown number, in a row that another program wrote, counts as in flight.
Status statusOf(std::int64_t number) noexcept {
    const bool is_known = number >= 0 && number < static_cast<std::int64_t>(indexed_statuses.size());
    return is_known ? static_cast<Status>(number) : Status::in_flight;
}

std::string arrayOf(Statuses statuses) {
    checkpoint::PostgresArray numbers(checkpoint::bigint_type);
    for (const Status status : indexed_statuses) {
        if (statuses.has(status)) numbers.addNumber(static_cast<std::int64_t>(status));
    }
    return numbers.encoded();
}

// Rows of a status, ThreadPlace::since, a name, a wake time and a summary.
std::vector<IndexedThread> threadsOf(const checkpoint::PostgresResult& rows, bool with_summaries) {
    std::vector<IndexedThread> threads;
    for (int row = 0; row < rows.rows(); ++row) {
        const IndexPlace place{rows.id(row, 1), rows.isNull(row, 3) ? 0 : rows.number(row, 3),
                               statusOf(rows.number(row, 0))};
        threads.push_back({{place.since, rows.copy(row, 2)}, place.outlook()});
        if (with_summaries) threads.back().summary = rows.isNull(row, 4) ? std::string() : rows.copy(row, 4);
    }
    return threads;
}

}  // namespace

std::optional<std::vector<IndexedThread>> PostgresSaver::openThreads(const OpenThreadsQuery& query) {
    return impl_->pool.repeat([&](PostgresConnection& connection) {
        PostgresParameters parameters;
        parameters.owned(arrayOf(query.statuses)).limit(query.limit).flag(query.with_summaries);
        if (query.after_thread_id) parameters.bytes(*query.after_thread_id);
        const auto& statement =
            query.after_thread_id ? impl_->statements.open_threads_after : impl_->statements.open_threads;
        return threadsOf(connection.run(statement, parameters, reading_index), query.with_summaries);
    });
}

std::optional<std::vector<IndexedThread>> PostgresSaver::newestThreads(const NewestThreadsQuery& query) {
    return impl_->pool.repeat([&](PostgresConnection& connection) {
        PostgresParameters parameters;
        parameters.owned(arrayOf(query.statuses)).limit(query.limit).flag(query.with_summaries);
        if (query.before) parameters.id(query.before->since).bytes(query.before->thread_id);
        const auto& statement =
            query.before ? impl_->statements.newest_threads_before : impl_->statements.newest_threads;
        return threadsOf(connection.run(statement, parameters, reading_index), query.with_summaries);
    });
}

std::optional<std::vector<DueThread>> PostgresSaver::dueThreads(const DueThreadsQuery& query) {
    return impl_->pool.repeat([&](PostgresConnection& connection) {
        PostgresParameters parameters;
        parameters.number(times::unixMsDown(query.until))
            .number(query.after ? times::unixMs(query.after->due) : std::numeric_limits<std::int64_t>::min())
            .bytes(query.after ? std::string_view(query.after->thread_id) : std::string_view(""))
            .limit(query.limit);
        const auto rows = connection.run(impl_->statements.due_threads, parameters, reading_index);
        std::vector<DueThread> due;
        for (int row = 0; row < rows.rows(); ++row)
            due.push_back({times::ofUnixMs(rows.number(row, 0)), rows.copy(row, 1)});
        return due;
    });
}

std::optional<ThreadCounts> PostgresSaver::countThreads(std::size_t most) {
    return impl_->pool.repeat([&](PostgresConnection& connection) {
        const auto rows =
            connection.run(impl_->statements.count_threads, PostgresParameters().limit(most), "count threads");
        ThreadCounts counts;
        for (int row = 0; row < rows.rows(); ++row)
            counts[statusOf(rows.number(row, 0))] += static_cast<std::size_t>(rows.number(row, 1));
        return counts;
    });
}

}  // namespace stategraph
