#include "src/async/timers.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <new>
#include <thread>
#include <utility>

namespace stategraph::engine {

Timers& Timers::common() {
    // Never destroyed, because its thread and coroutines may outlive main. It needs no memory, because its callers may
    // have none.
    alignas(Timers) static std::byte place[sizeof(Timers)];
    static auto* const timers = ::new (static_cast<void*>(place)) Timers();
    return *timers;
}

void Timers::startServing() {
    if (is_served_) return;
    std::thread([this] { serve(); }).detach();
    is_served_ = true;
}

void Timers::add(Timer& timer) {
    const detail::LockGuard lock(mutex_);
    startServing();
    heap_.push_back(nullptr);
    put(heap_.size() - 1, &timer);
    up(heap_.size() - 1);
    if (timer.place == 0) changed_.notify_one();
}

bool Timers::postAtAll(Timer& timer) noexcept {
    if (post(timer)) return true;
    const detail::LockGuard lock(mutex_);
    try {
        startServing();
    } catch (...) {
        return false;
    }
    timer.place = Timer::late;
    timer.next_late = std::exchange(late_, &timer);
    changed_.notify_one();
    return true;
}

bool Timers::remove(Timer& timer) noexcept {
    const detail::LockGuard lock(mutex_);
    if (timer.place == Timer::none) return false;
    if (timer.place == Timer::late) {
        Timer** at = &late_;
        while (*at != &timer) at = &(*at)->next_late;
        *at = timer.next_late;
        timer.place = Timer::none;
    } else {
        take(timer.place);
    }
    return true;
}

// After it returns true the timer may be destroyed.
bool Timers::post(const Timer& timer) noexcept {
    try {
        timer.home.ops->post(timer.home.place, timer.work);
        return true;
    } catch (...) {
        return false;  // there is no memory or thread
    }
}

// Called under the lock, so that a caller that removes a timer knows whether it was posted. Posting calls no code of
// users.
void Timers::goOff(Timer& timer) noexcept {
    take(0);
    if (post(timer)) return;
    timer.place = Timer::late;
    timer.next_late = std::exchange(late_, &timer);
}

void Timers::postLate() noexcept {
    for (Timer* timer = std::exchange(late_, nullptr); timer != nullptr;) {
        Timer* const next = timer->next_late;
        timer->place = Timer::none;
        if (!post(*timer)) {
            timer->place = Timer::late;
            timer->next_late = std::exchange(late_, timer);
        }
        timer = next;
    }
}

void Timers::serve() {
    detail::UniqueLock lock(mutex_);
    for (;;) {
        postLate();
        const auto now = std::chrono::steady_clock::now();
        if (!heap_.empty() && heap_.front()->at <= now) {
            goOff(*heap_.front());
        } else if (late_ != nullptr) {
            changed_.wait_for(lock.native(), std::chrono::milliseconds(1));
        } else if (heap_.empty()) {
            changed_.wait(lock.native());
        } else {
            // Waits at most an hour at a time, because longer waits would overflow the clock. The time is copied,
            // because the timer may be destroyed during the wait.
            const std::chrono::steady_clock::time_point until =
                std::min(heap_.front()->at, now + std::chrono::hours(1));
            changed_.wait_until(lock.native(), until);
        }
    }
}

// The sleepers, and the thread that wakes them, exist only in the parent process. Their coroutines never resume here.
void Timers::restartInChild() noexcept {
    for (Timer* const timer : heap_) timer->place = Timer::none;
    heap_.clear();
    for (Timer* timer = std::exchange(late_, nullptr); timer != nullptr; timer = timer->next_late)
        timer->place = Timer::none;
    is_served_ = false;
    ::new (&changed_) std::condition_variable();
    mutex_.unlock();
}

void Timers::put(std::size_t place, Timer* timer) noexcept {
    heap_[place] = timer;
    timer->place = place;
}

void Timers::take(std::size_t place) noexcept {
    heap_[place]->place = Timer::none;
    Timer* const last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    put(place, last);
    up(place);
    down(last->place);
}

void Timers::up(std::size_t place) noexcept {
    Timer* const timer = heap_[place];
    while (place > 0) {
        const std::size_t parent = (place - 1) / 2;
        if (heap_[parent]->at <= timer->at) break;
        put(place, heap_[parent]);
        place = parent;
    }
    put(place, timer);
}

void Timers::down(std::size_t place) noexcept {
    Timer* const timer = heap_[place];
    for (;;) {
        std::size_t child = 2 * place + 1;
        if (child >= heap_.size()) break;
        if (child + 1 < heap_.size() && heap_[child + 1]->at < heap_[child]->at) ++child;
        if (timer->at <= heap_[child]->at) break;
        put(place, heap_[child]);
        place = child;
    }
    put(place, timer);
}

}  // namespace stategraph::engine
