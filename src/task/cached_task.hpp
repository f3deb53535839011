#pragma once
#include <optional>
#include <string>

#include <stategraph/cache.hpp>

#include "src/task/task_env.hpp"

namespace stategraph::engine {

/// One attempt of a task, with respect to the cache. For a node without a cache policy, or without a cache, its
/// functions do nothing.
///
/// The entry contains what the node returned: its writes and where its Command leads. The node's routers are called
/// each time, because they may read more than the node does. Damaged entries, and failures of the cache, count as
/// missing entries.
class CachedTask {
public:
    /// Computes the key. Errors: NodeError if the policy's function throws.
    CachedTask(TaskEnv& env, Task& task, detail::TaskContext& context) {
        if (task.extra().is_cached) task.useExtra().is_cached = false;
        if (env.nodeOf(task).cache) open(env, task, context);
    }
    /// Returns true if the task has its result.
    bool restore() { return entry_ && restoreEntry(); }
    /// Notes what the node returned, before anything is done with it, and the routes to which that alone led.
    void noteWrites() {
        if (entry_) noteEntryWrites();
    }
    void noteRoutes() {
        if (entry_) noteEntryRoutes();
    }
    /// Call it after the task has finished.
    void store() noexcept {
        if (entry_) storeEntry();
    }
    /// Call it instead of `store` if the task's result is not for other tasks.
    void drop() noexcept { entry_.reset(); }

private:
    struct Entry {
        TaskEnv& env;
        Task& task;
        const NodeCache& policy;
        BaseCache& cache;
        std::string input;  // the input from which the key is computed
        CheckpointId hash;
        std::string key;
        std::string writes = {};
        std::string value = {};
    };

    // Most nodes have no cache, and nothing is called then.
    bool restoreEntry();
    void noteEntryWrites();
    void noteEntryRoutes();
    void storeEntry() noexcept;
    bool take(std::string_view stored);
    void open(TaskEnv& env, Task& task, detail::TaskContext& context);
    bool read(std::string_view stored);

    std::optional<Entry> entry_;
};

}  // namespace stategraph::engine
