#pragma once
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/saver.hpp>

namespace stategraph {
class Executor;
}

namespace stategraph::engine {

/// Implements async durability for savers that are slow: it stores in order, one request at a time, on a thread of the
/// executor. At most one request is under way, and the next waits for it, so that a crash loses no more than that. A
/// thread that waits for a request that no thread has begun executes it itself, because all threads of the executor may
/// be waiting.
class PutQueue {
public:
    PutQueue() = default;
    ~PutQueue();
    PutQueue(const PutQueue&) = delete;
    PutQueue& operator=(const PutQueue&) = delete;

    /// Copies the request. Throws the error of the previous request.
    void put(Executor& executor, BaseCheckpointSaver& saver, const PutRequest& request);
    /// Returns when no request is under way; throws the error of a failed request at each call.
    void wait();

private:
    struct Job;
    void waitQuietly(std::unique_lock<std::mutex>& lock) SG_REQUIRES(mutex_);

    detail::Mutex mutex_;
    std::condition_variable idle_;
    bool busy_ SG_GUARDED_BY(mutex_) = false;
    std::shared_ptr<Job> job_ SG_GUARDED_BY(mutex_);  // the request under way
    std::exception_ptr failed_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::engine
