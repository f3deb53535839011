#include <system_error>

#include <stategraph/error.hpp>

#include "worker/impl.hpp"

// The threads that run what was claimed.
namespace stategraph {

void Worker::Impl::startSlots() {
    slots.reserve(options.slots);
    while (slots.size() < options.slots) {
        try {
            slots.emplace_back([this] { serveSlot(); });
        } catch (const std::system_error&) {
            if (slots.empty()) throw;
            return;  // fewer do
        }
    }
}

void Worker::Impl::endSlots() noexcept {
    {
        const detail::LockGuard lock(mutex);
        is_over = true;
        given.notify_all();
    }
    for (std::thread& each : slots) each.join();
    slots.clear();
}

void Worker::Impl::serveSlot() noexcept {
    for (;;) {
        std::shared_ptr<Held> one;
        {
            detail::UniqueLock lock(mutex);
            given.wait(lock.native(), [this]() SG_REQUIRES(mutex) { return is_over || !waiting.empty(); });
            if (waiting.empty()) return;
            one = std::move(waiting.front());
            waiting.pop_front();
        }
        runOne(*one);
    }
}

void Worker::Impl::runOne(Held& one) noexcept {
    const Claim& claim = one.claim;
    std::optional<Release> release;
    try {
        PutLease lease{.epoch = claim.epoch};
        if (claim.state == WorkState::idle && !claim.is_cancelled) lease.takes = claim.input_number;
        claim.head.empty() ? saver->holdNew(claim.thread_id, lease) : saver->hold(claim.thread_id, lease);
        release = workers::runClaim(claim, *one.graph, *saver, one.control, options, [&] {
            const detail::LockGuard lock(mutex);
            return one.is_cancelled;
        });
    } catch (...) {  // no memory: nothing of it is known to be stored
        release = std::move(one.release);
        release->delay = workers::backoffAfter(claim.attempts, options);
    }
    saver->drop(claim.thread_id, claim.epoch);
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
    changed.notify_all();
}

void Worker::Impl::report(const Held& one, std::optional<WorkOutcome> outcome,
                          const std::string& error) const noexcept {
    if (!options.on_left) return;
    try {
        options.on_left({one.claim.thread_id, one.claim.graph, one.claim.queue, outcome, error});
    } catch (...) {
    }
}

void Worker::Impl::lose(Held& one) {
    if (one.is_lost) return;
    one.is_lost = true;
    ++metrics.leases_lost;
    saver->drop(one.claim.thread_id, one.claim.epoch);
}

void Worker::Impl::count(WorkOutcome outcome) {
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

}  // namespace stategraph
