#pragma once
#include <cstddef>
#include <memory>

#include <stategraph/detail/chrono.hpp>

namespace stategraph {

/// The options of an executor.
struct ExecutorOptions {
    /// The most threads there may be, the callers' own not counted; at least 1. Threads are started when work waits,
    /// and end after `idle` (at least 0) without work.
    std::size_t threads_max = 64;
    /// How long a thread without work waits before it ends; at least 0.
    std::chrono::milliseconds idle = std::chrono::seconds(1);
};

/// Threads that help with the tasks of supersteps. Safe from any thread; shared by any number of graphs.
///
/// The thread that drives a run takes part in its tasks, so a run makes progress even if every thread is busy. A graph
/// that is compiled without an executor uses a common one, which is created at its first use.
class Executor {
public:
    explicit Executor(const ExecutorOptions& options = {});
    ~Executor();
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    /// Calls `run(context, i)` for each i below `count`, at most `concurrency` at once, and returns when all have
    /// returned.
    /// `run` must not throw. With `elsewhere`, the calling thread takes no part if another is free.
    void forEach(std::size_t count, std::size_t concurrency, void (*run)(void* context, std::size_t index),
                 void* context, bool elsewhere = false);

    /// Does the same for calls that are expected to be short: the calling thread makes them one after the other. If
    /// they take more than about a millisecond, other threads help, so that calls that wait for each other overlap.
    /// A thread in addition to `threads_max` watches over such calls. It starts with the first ones that may overlap,
    /// and ends after `idle` without any. Cost: two locks and an allocation.
    void forEachBrief(std::size_t count, std::size_t concurrency, void (*run)(void* context, std::size_t index),
                      void* context);

    /// Calls `run(context)` on one of the threads at a later time. `run` must not throw. Errors: std::bad_alloc,
    /// std::system_error if there is no thread and none can be started; then `run` is not called.
    void submit(void (*run)(void* context), void* context);

    /// Does the same as `submit` if a thread is free or can be started; otherwise it returns false and calls nothing.
    /// Use it for work that the caller waits for, and do refused work yourself: a thread of the executor that waits for
    /// work which only the other threads could do may wait forever.
    bool trySubmit(void (*run)(void* context), void* context);

    /// The common executor.
    static const std::shared_ptr<Executor>& common();

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace stategraph
