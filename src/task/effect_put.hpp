#pragma once
#include <exception>
#include <string>
#include <utility>

#include <stategraph/detail/mutex.hpp>

#include "src/task/effects.hpp"
#include "src/threads/put_queue.hpp"
#include "src/threads/refusal.hpp"

namespace stategraph::engine {

/// What is known of an effect (Runtime::once), while it is being stored without a thread that waits. When that has
/// succeeded, the run's effects learn it, even if nobody awaits it any more: the next attempt must not repeat the
/// effect. Shared by the queue of puts and the coroutine that awaits it (detail::EffectStored).
class EffectPut final : public PutQueue::Listener {
public:
    /// `effects` and `refusal` exist until the put has ended.
    EffectPut(Effects& effects, Refusal& refusal, std::string path, Effects::Entry entry)
        : effects_(effects), refusal_(refusal), path_(std::move(path)), entry_(std::move(entry)) {}
    EffectPut(const EffectPut&) = delete;
    EffectPut& operator=(const EffectPut&) = delete;
    virtual ~EffectPut() = default;

    void ended(std::exception_ptr failure) noexcept override {
        if (!failure) {
            try {
                effects_.set(path_, std::move(entry_));
            } catch (...) {
                failure = std::current_exception();
            }
        } else {
            effects_.forgetSent(path_);
            refusal_.notePut(failure);
            if (isRefusal(failure)) refusal_.noteEffect(path_);
        }
        const detail::LockGuard lock(mutex_);
        failure_ = std::move(failure);
        has_ended_ = true;
        if (wake_ != nullptr) wake_(waiting_);
    }
    /// Has `wake(waiting)` called once, when the put has ended. Returns false if it has.
    bool suspend(void (*wake)(void* waiting) noexcept, void* waiting) noexcept {
        const detail::LockGuard lock(mutex_);
        if (has_ended_) return false;
        wake_ = wake;
        waiting_ = waiting;
        return true;
    }
    /// Call it before the one that is to be woken is destroyed.
    void forget() noexcept {
        const detail::LockGuard lock(mutex_);
        wake_ = nullptr;
    }
    /// Throws if the put has failed.
    void check() {
        const detail::LockGuard lock(mutex_);
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    Effects& effects_;
    Refusal& refusal_;
    const std::string path_;
    Effects::Entry entry_;
    detail::Mutex mutex_;
    bool has_ended_ SG_GUARDED_BY(mutex_) = false;
    std::exception_ptr failure_ SG_GUARDED_BY(mutex_);
    void (*wake_)(void* waiting) noexcept SG_GUARDED_BY(mutex_) = nullptr;
    void* waiting_ SG_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace stategraph::engine
