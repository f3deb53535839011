#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/saver.hpp>

namespace stategraph::checkpoint {

/// Which threads a process has leased, and under which epochs: what a LeasedSaver knows. Safe from any thread.
class LeaseBook {
public:
    /// As LeasedSaver's.
    void hold(std::string_view thread_id, const PutLease& lease) SG_EXCLUDES(mutex_);
    void holdNew(std::string_view thread_id, const PutLease& lease) SG_EXCLUDES(mutex_);
    bool hasTaken(std::string_view thread_id) const SG_EXCLUDES(mutex_);
    void drop(std::string_view thread_id, std::int64_t epoch) SG_EXCLUDES(mutex_);
    std::size_t held() const SG_EXCLUDES(mutex_);

    /// Errors: LeaseLostError if there is none.
    PutLease leaseOf(std::string_view thread_id) const SG_EXCLUDES(mutex_);
    /// The lease under which this is stored: only commits of the thread's own log take an input. Errors: as leaseOf.
    PutLease leaseOfPut(const PutRequest& request) const SG_EXCLUDES(mutex_);
    /// What was put under that lease is stored: its input is taken.
    void noteStored(std::string_view thread_id, const PutLease& lease) SG_EXCLUDES(mutex_);
    /// Something is about to be stored in the thread's own log.
    void noteWritten(std::string_view thread_id) SG_EXCLUDES(mutex_);
    /// Whether the thread was held as new, and nothing was stored in its own log since.
    bool isNew(std::string_view thread_id) const SG_EXCLUDES(mutex_);

private:
    struct Held {
        PutLease lease;
        bool is_new = false;
    };

    mutable detail::Mutex mutex_;
    std::map<std::string, Held, std::less<>> leases_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::checkpoint
