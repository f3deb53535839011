#pragma once
#include <optional>
#include <string>

#include <stategraph/cache.hpp>

#include "src/task/flight.hpp"
#include "src/task/task_env.hpp"

namespace stategraph::engine {

/// One attempt of a task and the cache. Of a node without a policy, or where no cache is, nothing here does anything.
///
/// The entry has what the node returned: its writes and where its Command leads. Its routers are called each time,
/// because they may read more than the node does. Damaged entries, and failures of the cache, count as missing entries.
class CachedTask {
public:
    /// Makes the key. Errors: NodeError if the policy's function throws.
    CachedTask(TaskEnv& env, Task& task, detail::TaskContext& context) {
        if (task.extra().is_cached) task.useExtra().is_cached = false;
        if (env.nodeOf(task).cache) open(env, task, context);
    }
    /// True: the task has its result.
    bool restore();
    /// The same, and if an equal task is under way, waits for it; from then on equal ones may wait for this. Errors:
    /// StopSignal.
    bool restoreOrLead() { return entry_ && restoreEntryOrLead(); }
    /// What the node returned, before anything is done with it, and the routes that this alone led to.
    void noteWrites() {
        if (entry_) noteEntryWrites();
    }
    void noteRoutes() {
        if (entry_) noteEntryRoutes();
    }
    /// After the task has finished.
    void store() noexcept {
        if (entry_) storeEntry();
    }
    /// Instead: its result is not for other tasks.
    void drop() noexcept;

private:
    struct Entry {
        TaskEnv& env;
        Task& task;
        const NodeCache& policy;
        BaseCache& cache;
        std::string input;  // what the key is of
        CheckpointId hash;
        std::string key;
        std::string writes = {};
        std::string value = {};
        std::uint64_t misses = 0;  // how often the cache was asked in vain
    };

    // Most nodes have no cache, and nothing is called then.
    bool restoreEntryOrLead();
    void noteEntryWrites();
    void noteEntryRoutes();
    void storeEntry() noexcept;
    bool take(std::string_view stored);
    void open(TaskEnv& env, Task& task, detail::TaskContext& context);
    bool read(std::string_view stored);

    std::optional<Entry> entry_;
    FlightSeat seat_;
};

}  // namespace stategraph::engine
