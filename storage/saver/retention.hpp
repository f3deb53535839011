#pragma once
#include <chrono>
#include <condition_variable>
#include <memory>
#include <optional>
#include <thread>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/retention.hpp>
#include <stategraph/saver.hpp>

namespace stategraph::checkpoint {

/// Throws InvalidArgumentError if the options request nothing, or are invalid.
void checkRetention(const RetentionOptions& options);

/// Returns the request that the options mean at this time.
PruneRequest pruneAt(const RetentionOptions& options, std::chrono::system_clock::time_point now);

/// A thread that prunes a saver as long as this object exists.
///
/// It catches every exception of `prune`. The destructor waits for a prune that is under way: a saver destroys this
/// object first, while everything that its prune needs still exists. Errors: as `checkRetention`; SaverError if no
/// thread can be started.
class Retention {
public:
    /// The saver must outlive this object.
    Retention(BaseCheckpointSaver& saver, const RetentionOptions& options);
    Retention(const Retention&) = delete;
    Retention& operator=(const Retention&) = delete;
    ~Retention();

    RetentionReport report() const;
    /// Whether its thread is of this process: a forked child has none.
    bool isOwnProcess() const noexcept;

private:
    void run() noexcept;
    void pruneOnce() noexcept SG_EXCLUDES(mutex_);

    BaseCheckpointSaver& saver_;
    const RetentionOptions options_;
    mutable detail::Mutex mutex_;
    std::condition_variable stop_;
    bool is_stopping_ SG_GUARDED_BY(mutex_) = false;
    RetentionReport report_ SG_GUARDED_BY(mutex_);
    const int process_;
    std::thread thread_;
};

/// Destroys it, except in a forked child, where that would wait for ever for the parent's thread: there it is left.
void endRetention(std::unique_ptr<Retention>& retention) noexcept;

}  // namespace stategraph::checkpoint
