#include "src/threads/put_queue.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <stategraph/executor.hpp>

#include "src/threads/owned_put.hpp"
#include "src/threads/refusal.hpp"

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
    void complete(std::exception_ptr failure) noexcept override {
        if (apart_ == whole) {
            if (!failure || parts.size() < 2 || !isRefusal(failure)) return queue_.end(*this, std::move(failure));
            apart_ = 0;
        } else {
            parts[apart_++].failure = std::move(failure);
        }
        if (apart_ == parts.size()) return queue_.endApart(*this);
        saver_.asyncPut(owned.partOf(apart_ == 0 ? 0 : parts[apart_ - 1].end, parts[apart_].end), *this);
    }

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
    /// What was added in one call.
    struct Part {
        std::size_t end = 0;  // of its pending writes
        std::shared_ptr<Listener> listener = {};
        std::exception_ptr failure = {};  // set if it was put on its own
    };
    std::vector<Part> parts;  // guarded as `owned`
    PutPointer next;

    // Called under the queue's mutex.
    void noteEnd() noexcept {
        has_ended = true;
        for (Part& part : parts) {
            if (apart_ == whole) part.failure = failure;
            if (part.listener) part.listener->ended(part.failure);
            part.listener = nullptr;
        }
    }

private:
    PutQueue& queue_;
    BaseCheckpointSaver& saver_;
    std::atomic<bool> is_begun_{false};
    static constexpr std::size_t whole = static_cast<std::size_t>(-1);
    std::size_t apart_ = whole;  // the part that is put on its own
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

PutQueue::Added PutQueue::add(BaseCheckpointSaver& saver, const PutRequest& request, Kind kind) {
    return add(saver, request, kind, nullptr);
}

void PutQueue::addEffect(BaseCheckpointSaver& saver, const PutRequest& request, std::shared_ptr<Listener> listener) {
    (void)add(saver, request, Kind::effect, std::move(listener));
}

PutQueue::Added PutQueue::add(BaseCheckpointSaver& saver, const PutRequest& request, Kind kind,
                              std::shared_ptr<Listener> listener) {
    Added added;
    {
        const detail::LockGuard lock(mutex_);
        if (failed_) std::rethrow_exception(failed_);
        if (last_ != nullptr && last_->kind == kind && last_->parts.size() < parts_max &&
            last_->owned.mayTake(request)) {
            auto& parts = last_->parts;
            if (parts.size() == parts.capacity()) parts.reserve(2 * parts.size() + 1);
            last_->owned.take(request);
            last_->commits += request.commits.size();
            commits_ += request.commits.size();
            if (request.commits.empty()) parts.push_back({last_->owned.writes(), std::move(listener)});
            added = {first_, parts.size() - 1};
            while (added.put.get() != last_) added.put = added.put->next;
            return added;
        }
        added.put = std::make_shared<Put>(*this, saver, request, kind);
        added.put->parts.push_back({request.writes.size(), std::move(listener)});
        count(*added.put);
        if (current_ != nullptr) {
            append(added.put);
            return added;
        }
        current_ = added.put;
    }
    added.put->begin();
    return added;
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

// For a put whose parts were put one after the other.
void PutQueue::endApart(Put& put) noexcept {
    std::exception_ptr first;
    for (const Put::Part& part : put.parts) {
        if (!first) first = part.failure;
    }
    end(put, std::move(first));
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

void PutQueue::wait(const Added& added) {
    detail::UniqueLock lock(mutex_);
    ended_.wait(lock.native(), [&]() SG_REQUIRES(mutex_) { return added.put->has_ended; });
    const Put& put = *added.put;
    const std::exception_ptr& failure = put.parts.empty() ? put.failure : put.parts[added.part].failure;
    if (failure) std::rethrow_exception(failure);
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
