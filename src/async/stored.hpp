#pragma once
#include <condition_variable>
#include <exception>
#include <optional>
#include <utility>

#include <stategraph/detail/async.hpp>
#include <stategraph/detail/mutex.hpp>

#include "src/run/run.hpp"

// Awaits a saver that answers later (BaseCheckpointSaver::answersLater).
namespace stategraph::engine {

/// Awaits that a log's puts have ended, or that there is room for another commit, without their errors. The coroutine
/// then calls LogWriter::wait or waitForRoom, which throws them, and which blocks if there was no memory to await. The
/// log must outlive it. It may be awaited again.
class Stored final : public PutQueue::Suspended {
public:
    explicit Stored(LogWriter& log, PutQueue::Until until = PutQueue::Until::idle) noexcept
        : queue_(log.isAwaited() ? &log.queue() : nullptr), until_(until) {}
    Stored(const Stored&) = delete;
    Stored& operator=(const Stored&) = delete;
    ~Stored() {
        if (is_suspended_) queue_->forget(*this);
    }

    /// What it awaits from now on.
    void setUntil(PutQueue::Until until) noexcept { until_ = until; }

    bool await_ready() const { return queue_ == nullptr || queue_->hasCome(until_); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        try {
            wakeup_.emplace().prepare(detail::homeOf(coroutine), coroutine);
        } catch (...) {
            return false;
        }
        is_suspended_ = true;
        // If it is woken, another thread may resume the coroutine, and destroy this, before this function ends.
        return queue_->suspend(*this, until_);
    }
    void await_resume() noexcept { is_suspended_ = false; }

private:
    void wake() noexcept override { wakeup_->wake(); }

    PutQueue* queue_;
    PutQueue::Until until_;
    bool is_suspended_ = false;
    std::optional<detail::Wakeup> wakeup_;
};

/// Awaits a tuple. If it is destroyed before, it waits for the saver's answer. What the query names must exist as long
/// as this. Throws what the saver throws.
class TupleRead final : public TupleCompletion {
public:
    TupleRead(BaseCheckpointSaver& saver, const TupleQuery& query) noexcept : saver_(saver), query_(query) {}
    TupleRead(const TupleRead&) = delete;
    TupleRead& operator=(const TupleRead&) = delete;
    ~TupleRead() {
        detail::UniqueLock lock(mutex_);
        ended_.wait(lock.native(), [this]() SG_REQUIRES(mutex_) { return !is_under_way_; });
    }

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
        wakeup_.prepare(detail::homeOf(coroutine), coroutine);
        {
            const detail::LockGuard lock(mutex_);
            is_under_way_ = true;
        }
        saver_.asyncGetTuple(query_, *this);
        const detail::LockGuard lock(mutex_);
        // From here on another thread may resume the coroutine; it then waits for this lock in await_resume.
        is_suspended_ = is_under_way_;
        return is_suspended_;
    }
    std::optional<CheckpointTuple> await_resume() {
        const detail::LockGuard lock(mutex_);
        if (failure_) std::rethrow_exception(failure_);
        return std::move(tuple_);
    }

private:
    void complete(std::optional<CheckpointTuple> tuple, std::exception_ptr failure) noexcept override {
        const detail::LockGuard lock(mutex_);
        tuple_ = std::move(tuple);
        failure_ = std::move(failure);
        is_under_way_ = false;
        if (is_suspended_) wakeup_.wake();  // under the lock, because this object exists until then
        ended_.notify_all();
    }

    BaseCheckpointSaver& saver_;
    const TupleQuery query_;
    detail::Mutex mutex_;
    std::condition_variable ended_;
    detail::Wakeup wakeup_;
    bool is_under_way_ SG_GUARDED_BY(mutex_) = false;
    bool is_suspended_ SG_GUARDED_BY(mutex_) = false;
    std::optional<CheckpointTuple> tuple_ SG_GUARDED_BY(mutex_);
    std::exception_ptr failure_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::engine
