#include "src/threads/put_queue.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <stategraph/executor.hpp>

#include "src/threads/owned_put.hpp"

namespace stategraph::engine {

/// A put that waits, is under way, or has ended.
class PutQueue::Put final : public PutCompletion {
public:
    Put(PutQueue& queue, BaseCheckpointSaver& to, const PutRequest& request, Kind what)
        : kind(what),
          is_append(what == Kind::commit && OwnedPut::isAppend(request)),
          owned(request),
          commits(what == Kind::commit ? std::max<std::size_t>(request.commits.size(), 1) : 0),
          queue_(queue),
          saver_(to) {}

    /// Called once, by the thread that has made it the put under way.
    void begin() noexcept { saver_.asyncPut(owned.request(), *this); }
    void complete(std::exception_ptr failure) noexcept override { queue_.end(*this, std::move(failure)); }

    /// Does the same by blocking; the first thread that calls it does it.
    void execute() noexcept {
        if (is_begun_.exchange(true)) return;
        std::exception_ptr failure;
        try {
            saver_.put(owned.request());
        } catch (...) {
            failure = std::current_exception();
        }
        // The failure as a whole, so that the run's thread destroys it.
        queue_.end(*this, std::move(failure));
    }
    /// Returns whether a thread that waits for it may execute it.
    bool canBeExecuted() const noexcept { return is_for_executor && !is_begun_.load(); }

    const Kind kind;
    const bool is_append;  // it is only commits
    OwnedPut owned;        // guarded by the queue's mutex until it begins
    std::size_t commits;   // what it counts for in PutQueue::commits_; guarded as `owned`
    bool is_for_executor = false;
    // Guarded by the queue's mutex:
    bool has_ended = false;
    std::exception_ptr failure;
    std::vector<std::shared_ptr<Listener>> listeners;
    PutPointer next;

    // Called under the queue's mutex.
    void noteEnd() noexcept {
        has_ended = true;
        for (const std::shared_ptr<Listener>& listener : listeners) listener->ended(failure);
        listeners.clear();
    }

private:
    PutQueue& queue_;
    BaseCheckpointSaver& saver_;
    std::atomic<bool> is_begun_{false};
};

PutQueue::~PutQueue() {
    detail::UniqueLock lock(mutex_);
    waitQuietly(lock.native(), Until::idle);
}

void PutQueue::put(Executor& executor, BaseCheckpointSaver& saver, const PutRequest& request) {
    if (saver.answersLater()) {
        {
            detail::UniqueLock lock(mutex_);
            waitQuietly(lock.native(), OwnedPut::isAppend(request) ? Until::room : Until::idle);
        }
        (void)add(saver, request, Kind::commit);
        return;
    }
    const auto put = std::make_shared<Put>(*this, saver, request, Kind::commit);
    put->is_for_executor = true;
    auto held = std::make_unique<PutPointer>(put);
    {
        detail::UniqueLock lock(mutex_);
        waitQuietly(lock.native(), Until::idle);
        // The failure stays, because later requests would not fit the log.
        if (failed_) std::rethrow_exception(failed_);
        count(*put);
        current_ = put;
    }
    try {
        executor.submit(
            [](void* context) { (*std::unique_ptr<PutPointer>(static_cast<PutPointer*>(context)))->execute(); },
            held.get());
    } catch (...) {
        const detail::LockGuard lock(mutex_);
        uncount(*put);
        current_ = nullptr;  // no thread has taken the request
        throw;
    }
    (void)held.release();
}

PutQueue::PutPointer PutQueue::add(BaseCheckpointSaver& saver, const PutRequest& request, Kind kind) {
    return add(saver, request, kind, nullptr);
}

void PutQueue::addEffect(BaseCheckpointSaver& saver, const PutRequest& request, std::shared_ptr<Listener> listener) {
    (void)add(saver, request, Kind::effect, std::move(listener));
}

PutQueue::PutPointer PutQueue::add(BaseCheckpointSaver& saver, const PutRequest& request, Kind kind,
                                   std::shared_ptr<Listener> listener) {
    PutPointer put;
    {
        const detail::LockGuard lock(mutex_);
        if (failed_) std::rethrow_exception(failed_);
        if (last_ != nullptr && last_->kind == kind && last_->owned.mayTake(request)) {
            auto& listeners = last_->listeners;
            if (listener && listeners.size() == listeners.capacity()) listeners.reserve(2 * listeners.size() + 1);
            last_->owned.take(request);
            last_->commits += request.commits.size();
            commits_ += request.commits.size();
            if (listener) listeners.push_back(std::move(listener));
            put = first_;
            while (put.get() != last_) put = put->next;
            return put;
        }
        put = std::make_shared<Put>(*this, saver, request, kind);
        if (listener) put->listeners.push_back(std::move(listener));
        count(*put);
        if (current_ != nullptr) {
            append(put);
            return put;
        }
        current_ = put;
    }
    put->begin();
    return put;
}

void PutQueue::append(PutPointer put) noexcept {
    Put* const added = put.get();
    (last_ == nullptr ? first_ : last_->next) = std::move(put);
    last_ = added;
}

// Called on any thread; the queue may be destroyed as soon as nothing is under way.
void PutQueue::end(Put& put, std::exception_ptr failure) noexcept {
    PutPointer ended;
    PutPointer next;
    PutPointer dropped;
    if (!failure && put.kind == Kind::commit && watcher_ != nullptr) watcher_->stored();
    {
        const detail::LockGuard lock(mutex_);
        ended = std::move(current_);
        current_ = nullptr;
        uncount(put);
        if (failure) noteFailure(put, std::move(failure), dropped);
        put.noteEnd();
        if (first_ != nullptr) {
            next = std::move(first_);
            first_ = std::move(next->next);
            if (first_ == nullptr) last_ = nullptr;
            current_ = next;
        }
        wakeThose();
        ended_.notify_all();
        ended = nullptr;  // under the lock, so that the thread that waited for it destroys its failure
    }
    if (next != nullptr) next->begin();
    while (dropped != nullptr) dropped = std::exchange(dropped->next, nullptr);
}

// The failure is moved, so that the thread that receives it destroys it.
void PutQueue::noteFailure(Put& put, std::exception_ptr failure, PutPointer& dropped) noexcept {
    switch (put.kind) {
        case Kind::hint:
            return;
        case Kind::effect:
            has_lost_ = true;
            put.failure = std::move(failure);
            return;
        case Kind::writes:
            has_lost_ = true;
            if (!lost_) lost_ = std::move(failure);
            return;
        case Kind::commit:
            break;
    }
    failed_ = std::move(failure);
    dropped = std::move(first_);
    first_ = nullptr;
    last_ = nullptr;
    commits_ = 0;
    others_ = 0;
    for (Put* each = dropped.get(); each != nullptr; each = each->next.get()) {
        if (each->kind == Kind::effect) each->failure = failed_;
        each->noteEnd();
    }
}

void PutQueue::count(const Put& put) noexcept {
    commits_ += put.commits;
    others_ += put.is_append ? 0 : 1;
}

void PutQueue::uncount(const Put& put) noexcept {
    commits_ -= put.commits;
    others_ -= put.is_append ? 0 : 1;
}

bool PutQueue::hasComeLocked(Until until) const noexcept {
    switch (until) {
        case Until::idle:
            return current_ == nullptr;
        case Until::commits:
            return commits_ == 0;
        case Until::room:
            break;
    }
    return commits_ < ahead_ && others_ == 0 && (last_ == nullptr || !last_->owned.isFull());
}

bool PutQueue::hasCome(Until until) const {
    const detail::LockGuard lock(mutex_);
    return hasComeLocked(until);
}

void PutQueue::wakeThose() noexcept {
    Suspended** place = &suspended_;
    while (Suspended* const each = *place) {
        if (!hasComeLocked(each->place.until)) {
            place = &each->place.next;
            continue;
        }
        *place = each->place.next;
        each->wake();
    }
}

bool PutQueue::suspend(Suspended& waiting, Until until) {
    const detail::LockGuard lock(mutex_);
    if (hasComeLocked(until)) return false;
    waiting.place = {until, suspended_};
    suspended_ = &waiting;
    return true;
}

void PutQueue::forget(const Suspended& waiting) noexcept {
    const detail::LockGuard lock(mutex_);
    for (Suspended** place = &suspended_; *place != nullptr; place = &(*place)->place.next) {
        if (*place != &waiting) continue;
        *place = waiting.place.next;
        return;
    }
}

void PutQueue::wait() {
    detail::UniqueLock lock(mutex_);
    waitQuietly(lock.native(), Until::idle);
    checkLocked();  // thrown to each task that calls it, and at the end of the run
}

void PutQueue::waitForRoom() {
    detail::UniqueLock lock(mutex_);
    waitQuietly(lock.native(), Until::room);
    checkLocked();
}

void PutQueue::waitForCommits() {
    detail::UniqueLock lock(mutex_);
    waitQuietly(lock.native(), Until::commits);
    if (failed_) std::rethrow_exception(failed_);
}

void PutQueue::wait(const PutPointer& put) {
    detail::UniqueLock lock(mutex_);
    ended_.wait(lock.native(), [&]() SG_REQUIRES(mutex_) { return put->has_ended; });
    if (put->failure) std::rethrow_exception(put->failure);
}

void PutQueue::check() {
    const detail::LockGuard lock(mutex_);
    checkLocked();
}

void PutQueue::checkLocked() {
    if (failed_) std::rethrow_exception(failed_);
    if (lost_) std::rethrow_exception(std::exchange(lost_, nullptr));
}

bool PutQueue::hasFailed() const {
    const detail::LockGuard lock(mutex_);
    return failed_ != nullptr || has_lost_;
}

void PutQueue::waitQuietly(std::unique_lock<std::mutex>& lock, Until until) {
    if (current_ != nullptr && current_->canBeExecuted()) {
        const PutPointer own = current_;
        lock.unlock();
        own->execute();
        lock.lock();
    }
    ended_.wait(lock, [this, until]() SG_REQUIRES(mutex_) { return hasComeLocked(until); });
}

}  // namespace stategraph::engine
