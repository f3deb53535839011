#include "src/threads/put_queue.hpp"

#include <atomic>
#include <memory>
#include <utility>

#include <stategraph/executor.hpp>

namespace stategraph::engine {

// A request with its own bytes.
struct PutQueue::Job {
    std::atomic<bool> is_begun{false};
    PutQueue* queue;
    BaseCheckpointSaver* saver;
    std::string thread_id;
    std::string checkpoint_ns;
    CheckpointId expected_head;
    bool sync;
    ThreadOutlook outlook;
    std::string summary;
    std::vector<std::string> bytes;
    std::vector<std::string> paths;
    std::vector<CommitRow> commits;
    std::vector<WriteRow> writes;
    std::vector<WriteRow> compared;

    Job(PutQueue& owner, BaseCheckpointSaver& to, const PutRequest& request)
        : queue(&owner),
          saver(&to),
          thread_id(request.log.thread_id),
          checkpoint_ns(request.log.checkpoint_ns),
          expected_head(request.expected_head),
          sync(request.sync),
          outlook(request.outlook),
          summary(request.summary) {
        bytes.reserve(request.commits.size() + 2 * request.writes.size() + request.compared.size());
        paths.reserve(request.writes.size() + request.compared.size());
        for (const CommitRow& row : request.commits) {
            bytes.emplace_back(row.bytes);
            commits.push_back({row.id, row.parent, row.base, bytes.back()});
        }
        for (const WriteRow& row : request.writes) {
            bytes.emplace_back(row.bytes);
            paths.emplace_back(row.path);
            writes.push_back({row.checkpoint_id, paths.back(), bytes.back()});
            if (row.expected) writes.back().expected = bytes.emplace_back(*row.expected);
        }
        for (const WriteRow& row : request.compared) {
            paths.emplace_back(row.path);
            compared.push_back({row.checkpoint_id, paths.back(), {}});
            if (row.expected) compared.back().expected = bytes.emplace_back(*row.expected);
        }
    }

    // Called by the first thread that is free.
    void run() {
        if (is_begun.exchange(true)) return;
        std::exception_ptr failure;
        try {
            saver->put({{thread_id, checkpoint_ns}, expected_head, commits, writes, sync, outlook, compared, summary});
        } catch (...) {
            failure = std::current_exception();
        }
        const detail::LockGuard lock(queue->mutex_);
        queue->busy_ = false;
        queue->job_ = nullptr;  // the thread that executes the request holds it too
        // The failure as a whole, so that the run's thread destroys it.
        if (failure) queue->failed_ = std::move(failure);
        queue->idle_.notify_all();
    }
};

PutQueue::~PutQueue() {
    detail::UniqueLock lock(mutex_);
    waitQuietly(lock.native());
}

void PutQueue::put(Executor& executor, BaseCheckpointSaver& saver, const PutRequest& request) {
    const auto job = std::make_shared<Job>(*this, saver, request);
    auto held = std::make_unique<std::shared_ptr<Job>>(job);
    {
        detail::UniqueLock lock(mutex_);
        waitQuietly(lock.native());
        // The failure stays, because later requests would not fit the log.
        if (failed_) std::rethrow_exception(failed_);
        busy_ = true;
        job_ = job;
    }
    try {
        executor.submit(
            [](void* context) {
                (*std::unique_ptr<std::shared_ptr<Job>>(static_cast<std::shared_ptr<Job>*>(context)))->run();
            },
            held.get());
    } catch (...) {
        const detail::LockGuard lock(mutex_);
        busy_ = false;  // no thread has taken the request
        job_ = nullptr;
        throw;
    }
    (void)held.release();
}

void PutQueue::wait() {
    detail::UniqueLock lock(mutex_);
    waitQuietly(lock.native());
    if (failed_) std::rethrow_exception(failed_);  // thrown to each task that calls it, and at the end of the run
}

void PutQueue::waitQuietly(std::unique_lock<std::mutex>& lock) {
    if (busy_ && job_ != nullptr && !job_->is_begun.load()) {
        const std::shared_ptr<Job> job = job_;
        lock.unlock();
        job->run();
        lock.lock();
    }
    idle_.wait(lock, [this]() SG_REQUIRES(mutex_) { return !busy_; });
}

}  // namespace stategraph::engine
