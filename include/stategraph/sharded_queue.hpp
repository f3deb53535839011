#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <stategraph/postgres_queue.hpp>
#include <stategraph/postgres_shards.hpp>
#include <stategraph/sharded_saver.hpp>

// The queues of all clusters as one, for programs that give work. Workers take threads from the queue of one cluster.
namespace stategraph {

/// Each thread's place in the queue is in the cluster that has the thread's slot, and moves with it. The calls are
/// those of PostgresQueue, with the same errors; if a slot has moved, the call goes to its new cluster. Safe from any
/// thread. Link `stategraph::postgres_shards`.
class ShardedQueue {
public:
    /// Uses the clusters of `saver`. Errors: InvalidArgumentError for null, and for shards that are not PostgresShards.
    explicit ShardedQueue(std::shared_ptr<ShardedSaver> saver);

    /// Stores inputs, those of one cluster all or none. If a cluster fails, those of clusters before it may have been
    /// stored: give inputs keys, and submit all of them again. Receipts are in the order of `inputs`; their numbers
    /// ascend within a thread.
    std::vector<Receipt> submit(std::span<const QueuedInput> inputs);
    /// Stores one input.
    Receipt submit(const QueuedInput& input);
    /// These and `find` do what PostgresQueue does, in the cluster that has the thread.
    bool withdraw(std::string_view thread_id, std::int64_t number);
    bool cancel(std::string_view thread_id);
    bool wake(std::string_view thread_id);
    bool retry(std::string_view thread_id);

    std::optional<QueuedThread> find(std::string_view thread_id);
    /// Returns the threads that were set aside in all clusters, in the order of names.
    std::vector<QueuedThread> setAside(std::size_t limit = 50, std::string_view after_thread_id = {});
    /// Returns the statistics of all clusters together, by queue.
    std::vector<QueueStats> stats();

private:
    template <class Call>
    auto onThread(std::string_view thread_id, Call call);

    std::shared_ptr<ShardedSaver> saver_;
    PostgresShards* shards_;
};

}  // namespace stategraph
