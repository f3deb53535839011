#include "worker/queue/lease_book.hpp"

#include <stategraph/error.hpp>

namespace stategraph::checkpoint {

void LeaseBook::hold(std::string_view thread_id, const PutLease& lease) {
    const detail::LockGuard lock(mutex_);
    leases_.insert_or_assign(std::string(thread_id), Held{lease, false});
}

void LeaseBook::holdNew(std::string_view thread_id, const PutLease& lease) {
    const detail::LockGuard lock(mutex_);
    leases_.insert_or_assign(std::string(thread_id), Held{lease, true});
}

bool LeaseBook::hasTaken(std::string_view thread_id) const {
    const detail::LockGuard lock(mutex_);
    const auto found = leases_.find(thread_id);
    return found == leases_.end() || !found->second.lease.takes;
}

void LeaseBook::drop(std::string_view thread_id, std::int64_t epoch) {
    const detail::LockGuard lock(mutex_);
    const auto found = leases_.find(thread_id);
    if (found != leases_.end() && found->second.lease.epoch == epoch) leases_.erase(found);
}

std::size_t LeaseBook::held() const {
    const detail::LockGuard lock(mutex_);
    return leases_.size();
}

PutLease LeaseBook::leaseOf(std::string_view thread_id) const {
    const detail::LockGuard lock(mutex_);
    const auto found = leases_.find(thread_id);
    if (found != leases_.end()) return found->second.lease;
    throw LeaseLostError(
        "this process has no lease on the thread: it has lost it or never claimed it, so nothing was stored; "
        "submit to the queue, or write through the PostgresSaver itself",
        {.thread_id = std::string(thread_id)});
}

PutLease LeaseBook::leaseOfPut(const PutRequest& request) const {
    PutLease lease = leaseOf(request.log.thread_id);
    if (!request.log.checkpoint_ns.empty() || request.commits.empty()) lease.takes.reset();
    return lease;
}

void LeaseBook::noteStored(std::string_view thread_id, const PutLease& lease) {
    if (!lease.takes) return;
    const detail::LockGuard lock(mutex_);
    const auto found = leases_.find(thread_id);
    if (found != leases_.end() && found->second.lease.epoch == lease.epoch) found->second.lease.takes.reset();
}

void LeaseBook::noteWritten(std::string_view thread_id) {
    const detail::LockGuard lock(mutex_);
    const auto found = leases_.find(thread_id);
    if (found != leases_.end()) found->second.is_new = false;
}

bool LeaseBook::isNew(std::string_view thread_id) const {
    const detail::LockGuard lock(mutex_);
    const auto found = leases_.find(thread_id);
    return found != leases_.end() && found->second.is_new;
}

}  // namespace stategraph::checkpoint
