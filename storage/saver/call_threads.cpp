#include "storage/saver/call_threads.hpp"

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace stategraph::checkpoint {
namespace {

std::int64_t thisProcess() noexcept {
#if __has_include(<unistd.h>)
    return ::getpid();
#else
    return 0;  // where no process is a fork of another
#endif
}

}  // namespace

CallThreads::CallThreads(std::size_t threads_max) : threads_max_(threads_max), process_(thisProcess()) {}

bool CallThreads::isInChild() const noexcept { return process_ != thisProcess(); }

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
