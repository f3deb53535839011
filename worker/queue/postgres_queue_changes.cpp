#include <cmath>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/queue_query.hpp>

#include "src/value/times.hpp"
#include "worker/queue/postgres_queue_calls.hpp"

// Calls that change threads that are in the queue, one or all that fit a query, and limits of queues.
namespace stategraph {
namespace {

using checkpoint::PostgresConnection;
using checkpoint::PostgresParameters;

constexpr std::int64_t rate_units = 1'000;
constexpr double rate_max = 1e9;

std::size_t indexOf(QueueChange change) {
    const auto index = static_cast<std::size_t>(change);
    if (index < queue_changes) return index;
    throw InvalidArgumentError("there is no change of threads with the number " + std::to_string(index));
}

std::int64_t timeOf(const std::optional<std::chrono::system_clock::time_point>& time) {
    return time ? times::unixMs(*time) : 0;
}

PostgresParameters parametersOf(const QueueQuery& query, std::string_view reason, std::size_t limit) {
    const bool has_metadata = !query.metadata.isNull();
    const std::string metadata = has_metadata ? query.metadata.toJson() : std::string();
    if (has_metadata && !metadata.starts_with('{'))
        throw InvalidArgumentError("QueueQuery::metadata is " + metadata + "; it must be an object");
    PostgresParameters parameters;
    parameters.text(query.queue).text(query.graph).text(query.worker);
    parameters.number(query.standing ? static_cast<std::int64_t>(*query.standing) : -1);
    parameters.text(query.error).owned(metadata);
    parameters.number(timeOf(query.since_from)).number(timeOf(query.since_to));
    parameters.bytes(query.thread_id_begin).owned(queue::asText(reason)).limit(limit);
    return parameters;
}

}  // namespace

const char* toString(QueueChange change) noexcept {
    switch (change) {
        case QueueChange::retry:
            return "retry";
        case QueueChange::cancel:
            return "cancel";
        case QueueChange::release:
            return "release";
        case QueueChange::set_aside:
            return "set_aside";
    }
    return "unknown";
}

bool QueueQuery::isEmpty() const noexcept {
    return queue.empty() && graph.empty() && worker.empty() && !standing && error.empty() && metadata.isNull() &&
           !since_from && !since_to && thread_id_begin.empty();
}

bool isQueueNamed(std::string_view pattern, std::string_view queue) noexcept {
    if (!pattern.ends_with('*')) return pattern == queue;
    return queue.starts_with(pattern.substr(0, pattern.size() - 1));
}

std::size_t PostgresQueue::change(QueueChange change, const QueueQuery& query, std::string_view reason,
                                  std::size_t limit) {
    const auto& statement = statements_->all_changes[indexOf(change)];
    const auto rows =
        queue::change(*saver_->impl_, statement, parametersOf(query, reason, limit), "change threads of the queue");
    return noted(change, static_cast<std::size_t>(rows.number(0, 0)));
}

QueuePreview PostgresQueue::preview(QueueChange change, const QueueQuery& query, std::size_t limit) {
    const auto& statement = statements_->previews[indexOf(change)];
    const PostgresParameters parameters = parametersOf(query, {}, std::max<std::size_t>(limit, 1));
    return saver_->impl_->pool.repeat([&](PostgresConnection& connection) {
        const auto rows = connection.run(statement, parameters, "count threads of the queue");
        QueuePreview preview;
        if (rows.rows() > 0) preview.count = static_cast<std::size_t>(rows.number(0, 0));
        for (int row = 0; row < rows.rows() && preview.first.size() < limit; ++row)
            preview.first.push_back(rows.copy(row, 1));
        return preview;
    });
}

bool PostgresQueue::changeOne(QueueChange change, std::string_view thread_id, std::string_view reason) {
    (void)ThreadId(thread_id);
    const auto rows = queue::change(*saver_->impl_, statements_->changes[indexOf(change)],
                                    PostgresParameters().bytes(thread_id).owned(queue::asText(reason)),
                                    "change a thread of the queue");
    return noted(change, static_cast<std::size_t>(rows.number(0, 0))) > 0;
}

std::size_t PostgresQueue::noted(QueueChange change, std::size_t changed) {
    if (changed == 0 || change == QueueChange::set_aside) return changed;
    saver_->impl_->tellOthers(change == QueueChange::cancel ? PostgresNotice::cancel : PostgresNotice::work);
    return changed;
}

bool PostgresQueue::cancel(std::string_view thread_id) { return changeOne(QueueChange::cancel, thread_id, {}); }
bool PostgresQueue::retry(std::string_view thread_id) { return changeOne(QueueChange::retry, thread_id, {}); }
bool PostgresQueue::takeBack(std::string_view thread_id) { return changeOne(QueueChange::release, thread_id, {}); }
bool PostgresQueue::putAside(std::string_view thread_id, std::string_view reason) {
    return changeOne(QueueChange::set_aside, thread_id, reason);
}

void PostgresQueue::setLimit(const QueueLimit& limit) {
    queue::checkName("queue", limit.queue);
    if (limit.queue.ends_with('*'))
        throw InvalidArgumentError("a limit is one queue's; '" + limit.queue + "' names several");
    if (limit.rate && !(*limit.rate >= 1.0 / rate_units && *limit.rate <= rate_max))
        throw InvalidArgumentError("QueueLimit::rate of queue '" + limit.queue + "' is " + std::to_string(*limit.rate) +
                                   "; it must be 0.001 to 1000000000 threads a second");
    PostgresParameters parameters;
    parameters.text(limit.queue);
    limit.runs ? parameters.limit(*limit.runs) : parameters.number(-1);
    parameters.number(limit.rate ? std::llround(*limit.rate * rate_units) : -1);
    (void)queue::change(*saver_->impl_, statements_->set_limit, parameters, "set the limit of a queue");
    saver_->impl_->tellOthers(PostgresNotice::work, limit.queue);
}

std::vector<QueueLimit> PostgresQueue::limits() {
    return saver_->impl_->pool.repeat([&](PostgresConnection& connection) {
        const auto rows = connection.run(statements_->limits, {}, "list the limits of queues");
        std::vector<QueueLimit> limits;
        for (int row = 0; row < rows.rows(); ++row) {
            QueueLimit& limit = limits.emplace_back();
            limit.queue = rows.copy(row, 0);
            if (rows.number(row, 1) >= 0) limit.runs = static_cast<std::size_t>(rows.number(row, 1));
            if (rows.number(row, 2) >= 0) limit.rate = static_cast<double>(rows.number(row, 2)) / rate_units;
            limit.running = static_cast<std::size_t>(rows.number(row, 3));
        }
        return limits;
    });
}

}  // namespace stategraph
