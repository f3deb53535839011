#include "src/run/stream_queue.hpp"

#include <string>
#include <utility>

#include <stategraph/error.hpp>

namespace stategraph::engine {

void StreamQueue::take(StreamEvent&& event) {
    detail::UniqueLock lock(mutex_);
    if (isFull() && !is_closed_) {
        if (when_full_ == WhenFull::wait) {
            ++waiting_tasks_;
            room_.wait(lock.native(), [this]() SG_REQUIRES(mutex_) { return is_closed_ || !isFull(); });
            --waiting_tasks_;
        } else {
            throw InvalidArgumentError("the stream's reader has not read " + std::to_string(sizeMax()) +
                                       " events of the current superstep; let the node wait in between, or write less");
        }
    }
    if (is_closed_) return;
    events_.push_back(std::move(event));
    wakeReader();
}

void StreamQueue::beginTasks() {
    const detail::LockGuard lock(mutex_);
    has_tasks_ = true;
}

void StreamQueue::endTasks() noexcept {
    const detail::LockGuard lock(mutex_);
    has_tasks_ = false;
    wakeReader();
}

bool StreamQueue::hasTasks() const {
    const detail::LockGuard lock(mutex_);
    return has_tasks_;
}

void StreamQueue::close() {
    const detail::LockGuard lock(mutex_);
    is_closed_ = true;
    room_.notify_all();
}

void StreamQueue::poll(std::optional<StreamEvent>& event, bool& has_tasks) {
    event.reset();
    const detail::LockGuard lock(mutex_);
    has_tasks = has_tasks_;
    if (events_.empty()) return;
    event.emplace(std::move(events_.front()));
    events_.pop_front();
    if (waiting_tasks_ > 0) room_.notify_one();
}

template <class Done>
void StreamQueue::waitUntil(Done is_done) {
    detail::UniqueLock lock(mutex_);
    is_reader_waiting_ = true;
    changed_.wait(lock.native(), is_done);
    is_reader_waiting_ = false;
}

void StreamQueue::wait() {
    waitUntil([this]() SG_REQUIRES(mutex_) { return !events_.empty() || !has_tasks_; });
}

void StreamQueue::waitForTasks() {
    waitUntil([this]() SG_REQUIRES(mutex_) { return !has_tasks_; });
}

bool StreamQueue::suspend(Suspended& reader) {
    const detail::LockGuard lock(mutex_);
    if (!events_.empty() || !has_tasks_) return false;
    suspended_ = &reader;
    return true;
}

void StreamQueue::forget(const Suspended& reader) noexcept {
    const detail::LockGuard lock(mutex_);
    if (suspended_ == &reader) suspended_ = nullptr;
}

void StreamQueue::wakeReader() noexcept {
    if (is_reader_waiting_) changed_.notify_one();
    if (suspended_ != nullptr) std::exchange(suspended_, nullptr)->wake();
}

}  // namespace stategraph::engine
