#include <algorithm>
#include <string>
#include <utility>

#include <stategraph/error.hpp>

#include "worker/keeper.hpp"

// The loop that renews leases, on a thread of its own: claims and releases wait for the server, and stop callbacks of
// nodes take as long as they take.
namespace stategraph::workers {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Notifications, and releases that find a lease gone, bring about a renewal at most once in this time.
constexpr milliseconds renewed_each{100};

SaverError lockedError(const Held& one) {
    return SaverError("the lease on thread '" + one.claim.thread_id +
                      "' could not be renewed before it ended: another transaction has locked its row in the queue, or "
                      "the server did not answer. Its run ends; a worker continues it when the row is free");
}

}  // namespace

void Keeper::hasten() noexcept {
    agenda.next_renewal = std::min(agenda.next_renewal, std::max(threads.now(), agenda.last_renewal + renewed_each));
    threads.notify(lease_is_due);
}

void Keeper::keepLeases() noexcept {
    {
        const detail::LockGuard lock(mutex);
        agenda.next_renewal = std::max(agenda.next_renewal, threads.now() + options.lease / 3);
    }
    for (;;) {
        {
            detail::UniqueLock lock(mutex);
            while (!life.is_over && threads.now() < agenda.next_renewal)
                threads.wait(lock, lease_is_due, agenda.next_renewal);
            if (life.is_over) break;
        }
        try {
            renew();
            enlist();
        } catch (...) {  // no memory: it tries again
            const detail::LockGuard lock(mutex);
            agenda.next_renewal = threads.now() + options.lease / 10;
        }
    }
    leave();
}

// Returns whether the lease ends now because it could not be renewed.
bool Keeper::noteRenewal(Held& one, const Renewed* renewed, Clock::time_point begin) {
    const bool is_gone = renewed == nullptr;
    const bool has_ended = !is_gone && !renewed->is_renewed && one.lease_end->hasCome(threads.now());
    if (is_gone || has_ended) {
        lose(one);
        to_end.push_back({one.control, true});
        return has_ended;
    }
    if (renewed->is_renewed)
        one.lease_end->set(begin + options.lease);
    else
        agenda.next_renewal = std::min(agenda.next_renewal, threads.now() + options.lease / 10);
    if (!renewed->is_cancelled || one.is_cancelled) return false;
    one.is_cancelled = true;
    to_end.push_back({one.control, true});
    return false;
}

// An error says nothing about the leases, which last as long as the newest renewal allows.
void Keeper::renew() {
    std::vector<HeldLease> leases;
    const Clock::time_point begin = threads.now();
    {
        const detail::LockGuard lock(mutex);
        agenda.last_renewal = begin;
        agenda.next_renewal = begin + options.lease / 3;
        for (const auto& [thread_id, one] : held) {
            if (!one->is_lost) leases.push_back({thread_id, one->claim.epoch});
        }
    }
    if (leases.empty()) return;
    std::vector<Renewed> renewed;
    bool is_known = false;
    try {
        renewed = queue.renew(leases, options.lease);
        is_known = true;
    } catch (...) {
        report(std::current_exception());
    }
    std::ranges::sort(renewed, {}, &Renewed::thread_id);
    std::vector<SaverError> errors;
    {
        const detail::LockGuard lock(mutex);
        if (is_known) ++metrics.renewals;
        if (!is_known) agenda.next_renewal = std::min(agenda.next_renewal, threads.now() + options.lease / 10);
        const Renewed unknown{.is_renewed = false};
        for (const HeldLease& lease : leases) {
            const auto found = held.find(lease.thread_id);
            if (found == held.end() || found->second->claim.epoch != lease.epoch || found->second->is_lost) continue;
            const auto said = std::ranges::lower_bound(renewed, lease.thread_id, {}, &Renewed::thread_id);
            const bool is_said = said != renewed.end() && said->thread_id == lease.thread_id;
            const Renewed* const of_it = !is_known ? &unknown : is_said ? &*said : nullptr;
            if (noteRenewal(*found->second, of_it, begin)) errors.push_back(lockedError(*found->second));
        }
        if (!to_end.empty() || done > 0) threads.notify(changed);
    }
    for (const SaverError& each : errors) report(std::make_exception_ptr(each));
}

void Keeper::enlist() {
    QueueWorker worker{.name = options.name, .slots = options.slots};
    for (const WorkerQueue& each : options.queues) worker.queues.push_back(each.name);
    for (const auto& each : graphs) worker.graphs.push_back(each->name());
    try {
        number = queue.enlist(number, worker, claimedGraphs(), options.lease);
    } catch (...) {
        report(std::current_exception());
    }
}

void Keeper::leave() noexcept {
    if (number == 0) return;
    try {
        queue.leave(number);
    } catch (...) {
        report(std::current_exception());
    }
}

}  // namespace stategraph::workers
