#include "src/async/timers.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <stategraph/detail/async.hpp>

namespace stategraph::detail {

std::int64_t nowNs() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace stategraph::detail

namespace stategraph::engine {

Timers& Timers::common() {
    // Never destroyed: its thread and coroutines may outlive main.
    static auto* const timers = new Timers();
    return *timers;
}

void Timers::add(Timer& timer) {
    const std::lock_guard lock(mutex_);
    if (!is_served_) {
        std::thread([this] { serve(); }).detach();
        is_served_ = true;
    }
    heap_.push_back(nullptr);
    put(heap_.size() - 1, &timer);
    up(heap_.size() - 1);
    if (timer.place == 0) changed_.notify_one();
}

bool Timers::remove(Timer& timer) noexcept {
    const std::lock_guard lock(mutex_);
    if (timer.place == Timer::none) return false;
    take(timer.place);
    return true;
}

// Under the lock: who removes a timer then knows whether it was posted. Posting calls nothing of users'.
void Timers::goOff(Timer& timer) {
    const detail::Home home = timer.home;
    const detail::Work work = timer.work;
    take(0);
    try {
        home.ops->post(home.place, work);  // the timer may be gone after it
    } catch (...) {
        // No memory, no thread: it is tried again. There is room in the heap, and the timer was not touched.
        timer.at_ns = detail::nowNs() + 1'000'000;
        heap_.push_back(nullptr);
        put(heap_.size() - 1, &timer);
        up(heap_.size() - 1);
    }
}

void Timers::serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
        if (heap_.empty()) {
            changed_.wait(lock, [this] { return !heap_.empty(); });
            continue;
        }
        const std::int64_t left_ns = heap_.front()->at_ns - detail::nowNs();
        if (left_ns > 0) {
            // An hour at a time: sleepers of centuries would overflow the clock of the wait.
            changed_.wait_for(lock, std::chrono::nanoseconds(std::min<std::int64_t>(left_ns, 3'600'000'000'000)));
            continue;
        }
        goOff(*heap_.front());
    }
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
        if (heap_[parent]->at_ns <= timer->at_ns) break;
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
        if (child + 1 < heap_.size() && heap_[child + 1]->at_ns < heap_[child]->at_ns) ++child;
        if (timer->at_ns <= heap_[child]->at_ns) break;
        put(place, heap_[child]);
        place = child;
    }
    put(place, timer);
}

}  // namespace stategraph::engine
