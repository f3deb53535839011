#include <utility>

#include <stategraph/error.hpp>

#include "src/value/times.hpp"
#include "worker/queue/postgres_queue_calls.hpp"

// What the queue shows.
namespace stategraph {
namespace {

using checkpoint::PostgresConnection;
using checkpoint::PostgresParameters;
using checkpoint::PostgresResult;

std::vector<QueuedThread> queuedThreads(const PostgresResult& rows) {
    std::vector<QueuedThread> threads;
    for (int row = 0; row < rows.rows(); ++row) {
        QueuedThread& thread = threads.emplace_back();
        thread.thread_id = rows.copy(row, 0);
        thread.queue = rows.copy(row, 1);
        thread.graph = rows.copy(row, 2);
        thread.state = queue::stateOf(rows.number(row, 3));
        if (!rows.isNull(row, 4)) thread.due = times::ofUnixMs(rows.number(row, 4));
        thread.epoch = rows.number(row, 5);
        thread.worker = rows.copy(row, 6);
        thread.attempts = rows.number(row, 7);
        thread.inputs = rows.number(row, 8);
        thread.is_set_aside = rows.flag(row, 9);
        thread.is_cancelled = rows.flag(row, 10);
        thread.error = rows.copy(row, 11);
        thread.standing = static_cast<QueueStanding>(rows.number(row, 12));
        thread.since = times::ofUnixMs(rows.number(row, 13));
        thread.apart = rows.number(row, 14);
    }
    return threads;
}

}  // namespace

const char* toString(WorkState state) noexcept {
    switch (state) {
        case WorkState::idle:
            return "idle";
        case WorkState::begun:
            return "begun";
        case WorkState::waits:
            return "waits";
        case WorkState::sleeping:
            return "sleeping";
    }
    return "unknown";
}

const char* toString(QueueStanding standing) noexcept {
    switch (standing) {
        case QueueStanding::ready:
            return "ready";
        case QueueStanding::leased:
            return "leased";
        case QueueStanding::later:
            return "later";
        case QueueStanding::sleeping:
            return "sleeping";
        case QueueStanding::waiting:
            return "waiting";
        case QueueStanding::set_aside:
            return "set_aside";
        case QueueStanding::unserved:
            return "unserved";
    }
    return "unknown";
}

std::optional<QueuedThread> PostgresQueue::find(std::string_view thread_id) {
    (void)ThreadId(thread_id);
    auto found = saver_->impl_->pool.repeat([&](PostgresConnection& connection) {
        return queuedThreads(
            connection.run(statements_->find, PostgresParameters().bytes(thread_id), "look for a thread"));
    });
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
}

std::vector<QueuedThread> PostgresQueue::setAside(std::size_t limit, std::string_view after_thread_id) {
    return saver_->impl_->pool.repeat([&](PostgresConnection& connection) {
        return queuedThreads(connection.run(statements_->set_aside,
                                            PostgresParameters().bytes(after_thread_id).limit(limit),
                                            "list threads that were set aside"));
    });
}

std::vector<QueuedThread> PostgresQueue::list(std::optional<QueueStanding> standing, std::size_t limit,
                                              std::string_view after_thread_id) {
    const std::int64_t number = standing ? static_cast<std::int64_t>(*standing) : -1;
    return saver_->impl_->pool.repeat([&](PostgresConnection& connection) {
        return queuedThreads(connection.run(statements_->list,
                                            PostgresParameters().bytes(after_thread_id).limit(limit).number(number),
                                            "list the queue's threads"));
    });
}

std::vector<QueueStats> PostgresQueue::stats() {
    return saver_->impl_->pool.repeat([&](PostgresConnection& connection) {
        const auto rows = connection.run(statements_->stats, {}, "count the queue's threads");
        const auto count = [&](int row, int column) { return static_cast<std::size_t>(rows.number(row, column)); };
        std::vector<QueueStats> stats;
        for (int row = 0; row < rows.rows(); ++row)
            stats.push_back({.queue = rows.copy(row, 0),
                             .ready = count(row, 1),
                             .leased = count(row, 2),
                             .later = count(row, 3),
                             .sleeping = count(row, 4),
                             .waiting = count(row, 5),
                             .set_aside = count(row, 6),
                             .inputs = count(row, 7),
                             .oldest = std::chrono::milliseconds(rows.number(row, 8)),
                             .unserved = count(row, 9)});
        return stats;
    });
}

std::vector<QueueWorker> PostgresQueue::workers() {
    return saver_->impl_->pool.repeat([&](PostgresConnection& connection) {
        const auto rows = connection.run(statements_->workers, {}, "list the queue's workers");
        std::vector<QueueWorker> workers;
        std::int64_t last = 0;
        for (int row = 0; row < rows.rows(); ++row) {
            if (workers.empty() || rows.number(row, 0) != last) {
                last = rows.number(row, 0);
                QueueWorker& worker = workers.emplace_back();
                worker.name = rows.copy(row, 1);
                worker.slots = static_cast<std::size_t>(rows.number(row, 2));
                worker.since = times::ofUnixMs(rows.number(row, 3));
                worker.until = times::ofUnixMs(rows.number(row, 4));
                worker.is_alive = rows.flag(row, 5);
                worker.held = static_cast<std::size_t>(rows.number(row, 6));
            }
            auto& names = rows.flag(row, 7) ? workers.back().graphs : workers.back().queues;
            names.push_back(rows.copy(row, 8));
        }
        return workers;
    });
}

}  // namespace stategraph
