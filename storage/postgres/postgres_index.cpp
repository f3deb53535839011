#include "storage/postgres/postgres_index.hpp"

#include <algorithm>

#include <stategraph/postgres_saver.hpp>

#include "storage/postgres/postgres_impl.hpp"

namespace stategraph {
namespace checkpoint {

// That no row is touched where the place stays, and none is moved back by a statement that began before another one.
std::string postgresIndexUpdate(std::string_view from, std::string_view which, std::string_view before,
                                std::string_view head, std::string_view finishes, std::string_view second_ago) {
    const std::string old(before);
    const std::string now(head);
    const std::string ends(finishes);
    std::string sql = "UPDATE {S}.logs l SET finished = " + ends + ", since = " + now + " ";
    if (!from.empty()) sql += "FROM " + std::string(from) + " ";
    return sql + "WHERE " + std::string(which) + " AND (" + old + ".since IS NULL OR " + old + ".finished <> " + ends +
           " OR CASE WHEN " + ends + " THEN " + old + ".since <> " + now + " ELSE " + old + ".since < " +
           std::string(second_ago) + " END) AND (l.since IS NULL OR l.since <= " + now + ")";
}

CheckpointId placeKeptFrom(CheckpointId head) noexcept {
    const std::uint64_t made_at = head.high() >> 16U;
    return {(made_at - std::min<std::uint64_t>(made_at, 999)) << 16U, 0};
}

}  // namespace checkpoint

namespace {

using checkpoint::PostgresConnection;
using checkpoint::PostgresParameters;

constexpr const char* reading_index = "read the index of threads";

}  // namespace

std::optional<std::vector<std::string>> PostgresSaver::openThreads(const std::optional<std::string>& after_thread_id,
                                                                   std::size_t limit) {
    return impl_->pool.repeat([&](PostgresConnection& connection) {
        PostgresParameters parameters;
        after_thread_id ? parameters.bytes(*after_thread_id) : parameters.null();
        parameters.limit(limit);
        const auto rows =
            connection.run(after_thread_id ? impl_->statements.open_threads_after : impl_->statements.open_threads,
                           parameters, reading_index);
        std::vector<std::string> names;
        for (int row = 0; row < rows.rows(); ++row) names.push_back(rows.copy(row, 0));
        return names;
    });
}

std::optional<std::vector<IndexedThread>> PostgresSaver::newestThreads(const NewestThreadsQuery& query) {
    return impl_->pool.repeat([&](PostgresConnection& connection) {
        PostgresParameters parameters;
        parameters.flag(query.is_finished.value_or(false) || !query.is_finished)
            .flag(!query.is_finished.value_or(false))
            .limit(query.limit);
        if (query.before) parameters.id(query.before->since).bytes(query.before->thread_id);
        const auto rows =
            connection.run(query.before ? impl_->statements.newest_threads_before : impl_->statements.newest_threads,
                           parameters, reading_index);
        std::vector<IndexedThread> newest;
        for (int row = 0; row < rows.rows(); ++row)
            newest.push_back({{rows.id(row, 0), rows.copy(row, 1)}, rows.flag(row, 2)});
        return newest;
    });
}

std::optional<ThreadCounts> PostgresSaver::countThreads(std::size_t most) {
    return impl_->pool.repeat([&](PostgresConnection& connection) {
        const auto rows =
            connection.run(impl_->statements.count_threads, PostgresParameters().limit(most), "count threads");
        return ThreadCounts{static_cast<std::size_t>(rows.number(0, 0)), static_cast<std::size_t>(rows.number(0, 1))};
    });
}

}  // namespace stategraph
