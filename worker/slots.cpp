#include <utility>

#include <stategraph/error.hpp>

#include "worker/keeper.hpp"

// The coroutines that run what was claimed.
namespace stategraph::workers {

void Keeper::start(const std::shared_ptr<Held>& one) noexcept {
    try {
        threads.run(runOne(one));
    } catch (...) {  // there is no memory for it
        Release release = std::move(one->release);
        release.delay = backoffAfter(one->claim.attempts, options);
        end(*one, std::move(release));
    }
}

Task<> Keeper::runOne(std::shared_ptr<Held> one) {
    std::optional<Release> release;
    try {
        release = co_await runHeld(*one);
    } catch (...) {  // there is no memory, so it is not known whether anything was stored
        release = std::move(one->release);
        release->delay = backoffAfter(one->claim.attempts, options);
    }
    end(*one, std::move(release));
}

Task<std::optional<Release>> Keeper::runHeld(Held& one) {
    const Claim& claim = one.claim;
    {
        const detail::LockGuard lock(mutex);
        if (one.is_lost) co_return std::nullopt;
        if (life.is_draining) {  // it is released unchanged
            Release release = std::move(one.release);
            release.outcome = WorkOutcome::again;
            co_return release;
        }
    }
    PutLease lease{.epoch = claim.epoch};
    if (claim.state == WorkState::idle && !claim.is_cancelled) lease.takes = claim.input_number;
    claim.head.empty() ? queue.holdNew(claim.thread_id, lease) : queue.hold(claim.thread_id, lease);
    const std::function<bool()> isCancelled = [this, &one] {
        const detail::LockGuard lock(mutex);
        return one.is_cancelled;
    };
    Task<std::optional<Release>> run = runClaim(claim, one.graph, reader, one.control, options, isCancelled);
    co_return co_await std::move(run);
}

void Keeper::end(Held& one, std::optional<Release> release) noexcept {
    queue.drop(one.claim.thread_id, one.claim.epoch);
    one.lease_end->set({});  // what was abandoned acts no longer
    std::optional<WorkOutcome> outcome;
    {
        const detail::LockGuard lock(mutex);
        if (!release) lose(one);
        if (!one.is_lost) {
            outcome = release->outcome;
            one.release = std::move(*release);
            count(*outcome);
        }
        finish(one);
    }
    report(one, outcome);
    threads.notify(changed);
}

void Keeper::report(const Held& one, std::optional<WorkOutcome> outcome) const noexcept {
    if (!options.on_left) return;
    try {
        options.on_left({one.claim.thread_id, one.claim.graph, one.claim.queue, outcome, one.release.error,
                         one.claim.attempts, one.release.delay});
    } catch (...) {
    }
}

void Keeper::lose(Held& one) {
    if (one.is_lost) return;
    one.is_lost = true;
    ++metrics.leases_lost;
    queue.drop(one.claim.thread_id, one.claim.epoch);
    if (one.is_waiting && !one.is_done) finish(one);  // nothing runs
}

// It is to be released, or forgotten.
void Keeper::finish(Held& one) {
    one.is_done = true;
    ++done;
    if (one.claim.apart > 0) --limited;
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
