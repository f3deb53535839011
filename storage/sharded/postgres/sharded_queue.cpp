#include <stategraph/sharded_queue.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include <stategraph/error.hpp>

#include "src/value/times.hpp"

namespace stategraph {

ShardedQueue::ShardedQueue(std::shared_ptr<ShardedSaver> saver) : saver_(std::move(saver)) {
    if (!saver_) throw InvalidArgumentError("a ShardedQueue needs a ShardedSaver, and was given none");
    shards_ = dynamic_cast<PostgresShards*>(saver_->shards().get());
    if (shards_ == nullptr)
        throw InvalidArgumentError(
            "a ShardedQueue needs a ShardedSaver over PostgresShards: other savers have no queue");
}

template <class Call>
auto ShardedQueue::onThread(std::string_view thread_id, Call call) {
    decltype(call(std::declval<PostgresQueue&>())) result{};
    saver_->onShardOf(thread_id, [&](std::size_t shard) {
        PostgresQueue queue(shards_->cluster(shard));
        result = call(queue);
    });
    return result;
}

// Cluster by cluster. What a cluster does not have any more is divided anew.
std::vector<Receipt> ShardedQueue::submit(std::span<const QueuedInput> inputs) {
    std::vector<Receipt> receipts(inputs.size());
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < inputs.size(); ++i) left.push_back(i);
    const auto deadline = times::after(std::chrono::steady_clock::now(), saver_->moveWait());
    auto pause = std::chrono::milliseconds(1);
    while (!left.empty()) {
        const ShardMap map = saver_->map();
        std::map<std::size_t, std::vector<std::size_t>> by_shard;
        for (const std::size_t i : left) by_shard[map.shard_of[slotOf(inputs[i].thread_id)]].push_back(i);
        left.clear();
        for (const auto& [shard, places] : by_shard) {
            std::vector<QueuedInput> own;
            for (const std::size_t i : places) own.push_back(inputs[i]);
            try {
                const auto stored = PostgresQueue(shards_->cluster(shard)).submit(own);
                for (std::size_t n = 0; n < places.size(); ++n) receipts[places[n]] = stored[n];
            } catch (const ThreadMovedError&) {
                if (std::chrono::steady_clock::now() >= deadline) throw;
                left.insert(left.end(), places.begin(), places.end());
            }
        }
        if (left.empty()) break;
        std::ranges::sort(left);
        saver_->refresh(map);
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, std::chrono::milliseconds(50));
    }
    return receipts;
}

Receipt ShardedQueue::submit(const QueuedInput& input) { return submit(std::span(&input, 1)).front(); }

bool ShardedQueue::withdraw(std::string_view thread_id, std::int64_t number) {
    return onThread(thread_id, [&](PostgresQueue& queue) { return queue.withdraw(thread_id, number); });
}
bool ShardedQueue::cancel(std::string_view thread_id) {
    return onThread(thread_id, [&](PostgresQueue& queue) { return queue.cancel(thread_id); });
}
bool ShardedQueue::wake(std::string_view thread_id) {
    return onThread(thread_id, [&](PostgresQueue& queue) { return queue.wake(thread_id); });
}
bool ShardedQueue::retry(std::string_view thread_id) {
    return onThread(thread_id, [&](PostgresQueue& queue) { return queue.retry(thread_id); });
}

std::optional<QueuedThread> ShardedQueue::find(std::string_view thread_id) {
    return onThread(thread_id, [&](PostgresQueue& queue) { return queue.find(thread_id); });
}

std::vector<QueuedThread> ShardedQueue::setAside(std::size_t limit, std::string_view after_thread_id) {
    std::vector<QueuedThread> all;
    for (std::size_t shard = 0; shard < shards_->count(); ++shard) {
        for (auto& thread : PostgresQueue(shards_->cluster(shard)).setAside(limit, after_thread_id))
            all.push_back(std::move(thread));
    }
    std::ranges::sort(all, {}, &QueuedThread::thread_id);
    if (all.size() > limit) all.erase(all.begin() + static_cast<std::ptrdiff_t>(limit), all.end());
    return all;
}

std::vector<QueueStats> ShardedQueue::stats() {
    std::map<std::string, QueueStats> by_name;
    for (std::size_t shard = 0; shard < shards_->count(); ++shard) {
        for (const QueueStats& each : PostgresQueue(shards_->cluster(shard)).stats()) {
            QueueStats& sum = by_name[each.queue];
            sum.queue = each.queue;
            sum.ready += each.ready;
            sum.leased += each.leased;
            sum.later += each.later;
            sum.sleeping += each.sleeping;
            sum.waiting += each.waiting;
            sum.set_aside += each.set_aside;
            sum.inputs += each.inputs;
            sum.oldest = std::max(sum.oldest, each.oldest);
        }
    }
    std::vector<QueueStats> all;
    for (auto& [name, stats] : by_name) all.push_back(std::move(stats));
    return all;
}

}  // namespace stategraph
