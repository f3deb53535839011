#include "storage/saver/call_threads.hpp"

namespace stategraph::checkpoint {

CallThreads::CallThreads(std::size_t threads_max) : threads_max_(threads_max) {}

CallThreads::~CallThreads() {
    std::vector<std::thread> ended;
    {
        const detail::LockGuard lock(mutex_);
        is_over_ = true;
        ended.swap(threads_);
    }
    came_.notify_all();
    for (std::thread& each : ended) each.join();
}

bool CallThreads::tryToStart() noexcept {
    if (threads_.size() == threads_max_) return false;
    try {
        threads_.reserve(threads_max_);
        threads_.emplace_back([this] { serve(); });
        return true;
    } catch (...) {  // there is no memory, or no thread
        return false;
    }
}

void CallThreads::submit(Work& work) noexcept {
    {
        const detail::LockGuard lock(mutex_);
        if (waiting_ < idle_ || tryToStart() || !threads_.empty()) {
            work.next = nullptr;
            (last_ == nullptr ? first_ : last_->next) = &work;
            last_ = &work;
            ++waiting_;
            if (idle_ > 0) came_.notify_one();
            return;
        }
    }
    work.run();
}

void CallThreads::serve() noexcept {
    detail::UniqueLock lock(mutex_);
    for (;;) {
        if (first_ == nullptr) {
            if (is_over_) return;
            ++idle_;
            came_.wait(lock.native(), [this]() SG_REQUIRES(mutex_) { return is_over_ || first_ != nullptr; });
            --idle_;
            continue;
        }
        Work& work = *first_;
        first_ = work.next;
        if (first_ == nullptr) last_ = nullptr;
        --waiting_;
        lock.unlock();
        work.run();
        lock.lock();
    }
}

}  // namespace stategraph::checkpoint
