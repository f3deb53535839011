#include <system_error>
#include <utility>

#include <stategraph/error.hpp>

#include "worker/keeper.hpp"

// The threads that run what was claimed.
namespace stategraph::workers {

void Keeper::startSlots() {
    while (slots < options.slots) {
        try {
            threads.start([this] { serveSlot(); });
        } catch (const std::system_error&) {
            if (slots == 0) throw;
            return;  // fewer threads do the work
        }
        ++slots;
    }
}

void Keeper::endSlots() noexcept {
    {
        const detail::LockGuard lock(mutex);
        is_over = true;
        threads.notify(given);
    }
    threads.join();
}

void Keeper::serveSlot() noexcept {
    for (;;) {
        std::shared_ptr<Held> one;
        {
            detail::UniqueLock lock(mutex);
            while (!is_over && waiting.empty()) threads.wait(lock, given, {});
            if (waiting.empty()) return;
            one = std::move(waiting.front());
            waiting.pop_front();
        }
        runOne(*one);
    }
}

void Keeper::runOne(Held& one) noexcept {
    const Claim& claim = one.claim;
    std::optional<Release> release;
    try {
        PutLease lease{.epoch = claim.epoch};
        if (claim.state == WorkState::idle && !claim.is_cancelled) lease.takes = claim.input_number;
        claim.head.empty() ? queue.holdNew(claim.thread_id, lease) : queue.hold(claim.thread_id, lease);
        release = runClaim(claim, *one.graph, reader, one.control, options, [&] {
            const detail::LockGuard lock(mutex);
            return one.is_cancelled;
        });
    } catch (...) {  // there is no memory, so it is not known whether anything was stored
        release = std::move(one.release);
        release->delay = backoffAfter(claim.attempts, options);
    }
    queue.drop(claim.thread_id, claim.epoch);
    std::optional<WorkOutcome> outcome;
    {
        const detail::LockGuard lock(mutex);
        if (!release) lose(one);
        if (!one.is_lost) {
            outcome = release->outcome;
            one.release = std::move(*release);
            count(*outcome);
        }
        one.is_done = true;
        ++done;
    }
    report(one, outcome, one.release.error);
    threads.notify(changed);
}

void Keeper::report(const Held& one, std::optional<WorkOutcome> outcome, const std::string& error) const noexcept {
    if (!options.on_left) return;
    try {
        options.on_left({one.claim.thread_id, one.claim.graph, one.claim.queue, outcome, error});
    } catch (...) {
    }
}

void Keeper::lose(Held& one) {
    if (one.is_lost) return;
    one.is_lost = true;
    ++metrics.leases_lost;
    queue.drop(one.claim.thread_id, one.claim.epoch);
}

void Keeper::count(WorkOutcome outcome) {
    switch (outcome) {
        case WorkOutcome::finished:
            ++metrics.finished;
            break;
        case WorkOutcome::cancelled:
            ++metrics.cancelled;
            break;
        case WorkOutcome::again:
            ++metrics.given_back;
            break;
        case WorkOutcome::waits:
            ++metrics.waiting;
            break;
        case WorkOutcome::sleeps:
            ++metrics.sleeping;
            break;
        case WorkOutcome::retry:
            ++metrics.retried;
            break;
        case WorkOutcome::set_aside:
            ++metrics.set_aside;
            break;
        case WorkOutcome::refused:
            ++metrics.refused;
            break;
    }
}

}  // namespace stategraph::workers
