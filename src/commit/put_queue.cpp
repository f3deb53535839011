#include "src/commit/put_queue.hpp"

#include <memory>
#include <utility>

#include <stategraph/executor.hpp>

namespace stategraph::engine {

// A request with its own bytes.
struct PutQueue::Job {
    PutQueue* queue;
    BaseCheckpointSaver* saver;
    std::string thread_id;
    std::string checkpoint_ns;
    CheckpointId expected_head;
    bool sync;
    std::vector<std::string> bytes;
    std::vector<std::string> paths;
    std::vector<CommitRow> commits;
    std::vector<WriteRow> writes;

    Job(PutQueue& owner, BaseCheckpointSaver& to, const PutRequest& request)
        : queue(&owner), saver(&to), thread_id(request.log.thread_id), checkpoint_ns(request.log.checkpoint_ns),
          expected_head(request.expected_head), sync(request.sync) {
        bytes.reserve(request.commits.size() + 2 * request.writes.size());
        paths.reserve(request.writes.size());
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
    }

    void run() {
        std::exception_ptr failure;
        try {
            saver->put({{thread_id, checkpoint_ns}, expected_head, commits, writes, sync});
        } catch (...) {
            failure = std::current_exception();
        }
        const std::lock_guard lock(queue->mutex_);
        queue->busy_ = false;
        if (failure) queue->failed_ = std::move(failure);  // all of it: the run's thread is the one to destroy it
        queue->idle_.notify_all();
    }
};

PutQueue::~PutQueue() {
    std::unique_lock lock(mutex_);
    waitQuietly(lock);
}

void PutQueue::put(Executor& executor, BaseCheckpointSaver& saver, const PutRequest& request) {
    auto job = std::make_unique<Job>(*this, saver, request);
    {
        std::unique_lock lock(mutex_);
        waitQuietly(lock);
        if (failed_) std::rethrow_exception(failed_);  // and for ever: what follows would not fit the log
        busy_ = true;
    }
    try {
        executor.submit([](void* context) { std::unique_ptr<Job>(static_cast<Job*>(context))->run(); }, job.get());
    } catch (...) {
        const std::lock_guard lock(mutex_);
        busy_ = false;  // nobody has the job
        throw;
    }
    (void)job.release();
}

void PutQueue::wait() {
    std::unique_lock lock(mutex_);
    waitQuietly(lock);
    if (failed_) std::rethrow_exception(failed_);  // to each task that asks, and to whoever ends the run
}

void PutQueue::waitQuietly(std::unique_lock<std::mutex>& lock) {
    idle_.wait(lock, [this] { return !busy_; });
}

}  // namespace stategraph::engine
