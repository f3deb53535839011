#include <algorithm>
#include <string>
#include <utility>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/detail/utf8.hpp>
#include <stategraph/error.hpp>

#include "worker/queue/postgres_queue_calls.hpp"

// The calls with which a worker keeps what it has: it says that it is alive, what it has begun, and that its leases go
// on.
namespace stategraph {
namespace {

using checkpoint::PostgresArray;
using checkpoint::PostgresConnection;
using checkpoint::PostgresParameters;
using checkpoint::PostgresPool;
using checkpoint::PostgresPoolSettings;
using checkpoint::PostgresResult;
using std::chrono::milliseconds;

std::vector<std::string> names(const PostgresResult& rows) {
    std::vector<std::string> all;
    for (int row = 0; row < rows.rows(); ++row) all.push_back(rows.copy(row, 0));
    return all;
}

PostgresParameters leases(std::span<const HeldLease> held) {
    PostgresArray threads(checkpoint::bytea_type);
    PostgresArray epochs(checkpoint::bigint_type);
    for (const HeldLease& each : held) {
        threads.add(each.thread_id);
        epochs.addNumber(each.epoch);
    }
    PostgresParameters parameters;
    parameters.owned(threads.encoded()).owned(epochs.encoded());
    return parameters;
}

}  // namespace

void queue::checkLease(milliseconds lease) {
    if (lease >= std::chrono::seconds(1) && lease <= std::chrono::hours(24)) return;
    throw InvalidArgumentError("a lease is " + std::to_string(lease.count()) + " ms; it must be 1000 to 86400000");
}

std::string queue::asText(std::string_view text) {
    constexpr std::size_t bytes_max = 4000;
    std::string shown(detail::beginningOf(text, bytes_max));
    if (!detail::isUtf8(shown))
        std::ranges::replace_if(
            shown, [](char c) { return c < ' ' || c > '~'; }, '?');
    std::erase(shown, '\0');
    return shown;
}

/// The connection of renewals. All others may be taken by calls that wait.
struct PostgresQueue::OwnConnection {
    /// Its statements end after a quarter of the lease.
    std::shared_ptr<PostgresPool> of(const PostgresPoolSettings& settings, milliseconds lease) SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        if (pool_ && lease_ == lease) return pool_;
        const milliseconds most = std::max(lease / 4, milliseconds(100));
        PostgresPoolSettings own = settings;
        own.connections_max = 1;
        for (milliseconds* each : {&own.connection_wait, &own.reconnect_for, &own.connection.statement_timeout})
            *each = std::min(*each, most);
        own.connection.connect_timeout = std::min(own.connection.connect_timeout, 2 * most);
        pool_ = std::make_shared<PostgresPool>(std::move(own));
        lease_ = lease;
        return pool_;
    }

    /// Null if there was none yet.
    std::shared_ptr<PostgresPool> last() SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        return pool_;
    }

private:
    detail::Mutex mutex_;
    std::shared_ptr<PostgresPool> pool_ SG_GUARDED_BY(mutex_);
    milliseconds lease_ SG_GUARDED_BY(mutex_){};
};

PostgresQueue::PostgresQueue(std::shared_ptr<PostgresSaver> saver) : saver_(std::move(saver)) {
    if (!saver_) throw InvalidArgumentError("a PostgresQueue needs a PostgresSaver, and was given none");
    statements_ = std::make_shared<const Statements>(saver_->impl_->quoted_schema);
    own_ = std::make_shared<OwnConnection>();
}

std::int64_t PostgresQueue::enlist(std::int64_t number, const QueueWorker& worker,
                                   std::span<const ClaimedGraph> claimed, milliseconds lease) {
    queue::checkLease(lease);
    PostgresArray queues(checkpoint::text_type);
    PostgresArray graphs(checkpoint::text_type);
    PostgresArray versions(checkpoint::uuid_type);
    for (const std::string& each : worker.queues) queues.add(each);
    for (const ClaimedGraph& each : claimed) graphs.add(each.name);
    for (const ClaimedGraph& each : claimed) versions.addId(queue::idOf(each.version));
    PostgresParameters parameters;
    parameters.number(number).text(worker.name);
    for (const PostgresArray* array : {&queues, &graphs, &versions}) parameters.owned(array->encoded());
    parameters.number(static_cast<std::int64_t>(worker.slots)).number(lease.count());
    saver_->impl_->checkWritable();
    const auto pool = own_->of(saver_->impl_->pool.settings(), lease);
    return pool
        ->repeat([&](PostgresConnection& connection) {
            return connection.run(statements_->enlist, parameters, "say that a worker is alive");
        })
        .number(0, 0);
}

void PostgresQueue::leave(std::int64_t number) {
    PostgresParameters parameters;
    parameters.number(number);
    const auto pool = own_->last();
    if (!pool) return;
    (void)pool->repeat([&](PostgresConnection& connection) {
        return connection.run(statements_->leave, parameters, "say that a worker has ended");
    });
}

std::vector<std::string> PostgresQueue::begin(std::span<const HeldLease> held) {
    if (held.empty()) return {};
    return names(queue::change(*saver_->impl_, statements_->begin, leases(held), "say that threads are run"));
}

std::vector<Renewed> PostgresQueue::renew(std::span<const HeldLease> held, milliseconds lease) {
    queue::checkLease(lease);
    if (held.empty()) return {};
    PostgresParameters parameters = leases(held);
    parameters.number(lease.count());
    saver_->impl_->checkWritable();
    const auto pool = own_->of(saver_->impl_->pool.settings(), lease);
    const PostgresResult rows = pool->repeat(
        [&](PostgresConnection& connection) { return connection.run(statements_->renew, parameters, "renew leases"); });
    std::vector<Renewed> renewed;
    for (int row = 0; row < rows.rows(); ++row)
        renewed.push_back({rows.copy(row, 0), rows.flag(row, 1), rows.flag(row, 2)});
    return renewed;
}

}  // namespace stategraph
