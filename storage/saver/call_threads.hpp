#pragma once
#include <condition_variable>
#include <cstddef>
#include <thread>
#include <vector>

#include <stategraph/detail/mutex.hpp>

namespace stategraph::checkpoint {

/// Threads that wait for a storage on behalf of asynchronous calls. They begin when they are needed, and end with this
/// object. What is to be done waits in a list that needs no memory, and has one entry for each call under way.
class CallThreads {
public:
    /// What a thread is to do. It must exist until `run` is called, which may destroy it.
    class Work {
    public:
        virtual void run() noexcept = 0;
        Work* next = nullptr;  // for the list

    protected:
        ~Work() = default;
    };

    explicit CallThreads(std::size_t threads_max);
    CallThreads(const CallThreads&) = delete;
    CallThreads& operator=(const CallThreads&) = delete;
    /// Does first what is left. Not in a forked child, which does not have the threads: the owner forgets this object
    /// there.
    ~CallThreads();

    /// Has one of the threads do it, the oldest work first. If none can be started, the calling thread does it.
    void submit(Work& work) noexcept;

private:
    void serve() noexcept;
    bool tryToStart() noexcept SG_REQUIRES(mutex_);

    const std::size_t threads_max_;
    detail::Mutex mutex_;
    std::condition_variable came_;
    Work* first_ SG_GUARDED_BY(mutex_) = nullptr;
    Work* last_ SG_GUARDED_BY(mutex_) = nullptr;
    std::size_t waiting_ SG_GUARDED_BY(mutex_) = 0;  // work in the list
    std::size_t idle_ SG_GUARDED_BY(mutex_) = 0;     // threads that wait for work, or are about to take some
    bool is_over_ SG_GUARDED_BY(mutex_) = false;
    std::vector<std::thread> threads_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::checkpoint
