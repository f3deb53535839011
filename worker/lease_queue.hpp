#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/leased_saver.hpp>
#include <stategraph/postgres_queue.hpp>

namespace stategraph::workers {

/// What a worker calls: the queue, as PostgresQueue documents it, and the leases of its own saver. Safe from any
/// thread. Errors: those of PostgresQueue.
class LeaseQueue {
public:
    virtual ~LeaseQueue() = default;

    virtual std::vector<Claim> claim(const ClaimRequest& request, std::vector<std::string>& limited) = 0;
    virtual DueQueues dueQueues(std::string_view prefix, std::string_view after, std::size_t most) = 0;
    virtual std::vector<std::string> begin(std::span<const HeldLease> held) = 0;
    virtual std::vector<Renewed> renew(std::span<const HeldLease> held, std::chrono::milliseconds lease) = 0;
    virtual std::vector<std::string> release(std::span<const Release> releases) = 0;
    virtual std::size_t forgetKeys(std::chrono::milliseconds kept) = 0;
    virtual std::int64_t enlist(std::int64_t number, const QueueWorker& worker, std::span<const ClaimedGraph> graphs,
                                std::chrono::milliseconds lease) = 0;
    virtual void leave(std::int64_t number) = 0;

    /// As LeasedSaver's.
    virtual void hold(std::string_view thread_id, const PutLease& lease) = 0;
    virtual void holdNew(std::string_view thread_id, const PutLease& lease) = 0;
    virtual void drop(std::string_view thread_id, std::int64_t epoch) = 0;
};

/// The queue and the leases of a PostgreSQL schema. Both objects must outlive this one.
class PostgresLeases final : public LeaseQueue {
public:
    PostgresLeases(PostgresQueue& queue, LeasedSaver& saver) : queue_(queue), saver_(saver) {}

    std::vector<Claim> claim(const ClaimRequest& request, std::vector<std::string>& limited) override {
        return queue_.claim(request, &limited);
    }
    DueQueues dueQueues(std::string_view prefix, std::string_view after, std::size_t most) override {
        return queue_.dueQueues(prefix, after, most);
    }
    std::vector<std::string> begin(std::span<const HeldLease> held) override { return queue_.begin(held); }
    std::vector<Renewed> renew(std::span<const HeldLease> held, std::chrono::milliseconds lease) override {
        return queue_.renew(held, lease);
    }
    std::vector<std::string> release(std::span<const Release> releases) override { return queue_.release(releases); }
    std::size_t forgetKeys(std::chrono::milliseconds kept) override { return queue_.forgetKeys(kept); }
    std::int64_t enlist(std::int64_t number, const QueueWorker& worker, std::span<const ClaimedGraph> graphs,
                        std::chrono::milliseconds lease) override {
        return queue_.enlist(number, worker, graphs, lease);
    }
    void leave(std::int64_t number) override { queue_.leave(number); }
    void hold(std::string_view thread_id, const PutLease& lease) override { saver_.hold(thread_id, lease); }
    void holdNew(std::string_view thread_id, const PutLease& lease) override { saver_.holdNew(thread_id, lease); }
    void drop(std::string_view thread_id, std::int64_t epoch) override { saver_.drop(thread_id, epoch); }

private:
    PostgresQueue& queue_;
    LeasedSaver& saver_;
};

}  // namespace stategraph::workers
