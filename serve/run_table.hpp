#pragma once
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>
#include <stategraph/executor.hpp>
#include <stategraph/run_control.hpp>
#include <stategraph/serve/endpoint.hpp>

#include "serve/replay.hpp"

namespace stategraph::serve {

/// The server does not begin runs now; a client may ask again.
class NotNowError : public InvalidUpdateError {
public:
    using InvalidUpdateError::InvalidUpdateError;
};

/// The run on the thread was asked to stop, so the thread is free soon.
class ThreadStoppingError : public ThreadBusyError {
public:
    using ThreadBusyError::ThreadBusyError;
};

/// A run that a request began. It continues without readers.
class ActiveRun {
public:
    ActiveRun(std::shared_ptr<Replay> replay, std::string owner)
        : replay_(std::move(replay)), owner_(std::move(owner)) {}

    const std::shared_ptr<RunControl>& control() const noexcept { return control_; }
    bool hasEnded() const;
    /// Whether it has ended with an error. Its subscribers have all of its events then.
    bool hasFailed() const;
    /// Returns its error, or null while it is under way.
    std::exception_ptr error() const;
    /// Wakes these readers when the run has ended.
    void tell(std::vector<std::shared_ptr<stategraph::detail::SubscriptionImpl>> readers);
    /// Returns what clients that reconnect are sent first, or null if nothing is recorded.
    const std::shared_ptr<Replay>& replay() const noexcept { return replay_; }
    /// The name of who began it; empty: nobody.
    const std::string& owner() const noexcept { return owner_; }

private:
    friend class RunTable;
    void end(std::exception_ptr error) noexcept;

    const std::shared_ptr<RunControl> control_ = std::make_shared<RunControl>();
    const std::shared_ptr<Replay> replay_;
    const std::string owner_;
    mutable stategraph::detail::Mutex mutex_;
    bool ended_ SG_GUARDED_BY(mutex_) = false;
    std::exception_ptr error_ SG_GUARDED_BY(mutex_);
    std::vector<std::shared_ptr<stategraph::detail::SubscriptionImpl>> readers_ SG_GUARDED_BY(mutex_);
};

/// The runs that are under way. Safe from any thread. It must be owned by a shared_ptr.
class RunTable : public std::enable_shared_from_this<RunTable> {
public:
    RunTable(std::size_t runs_max, std::shared_ptr<Executor> executor)
        : runs_max_(runs_max), not_begun_(notBegun()), executor_(std::move(executor)) {}

    using Key = std::pair<const Endpoint*, std::string>;

    /// Reserves a thread for a run that is about to begin. If it is destroyed before that, it releases the thread.
    class Place {
    public:
        Place(std::shared_ptr<RunTable> table, std::shared_ptr<Endpoint> endpoint, const ThreadId& thread,
              std::shared_ptr<Replay> replay, std::string owner);
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;
        ~Place();
        const std::shared_ptr<ActiveRun>& run() const noexcept { return run_; }
        /// Begins the run on the executor; call it once. Thread, hub and control of the configuration are set here. The
        /// run's readers are woken at its end, even if it is refused or this function throws. `then` is called after
        /// the end of a run that was begun, when the thread is free; it must not throw.
        std::shared_ptr<ActiveRun> begin(const Begin& work, RunConfig config, std::function<void()> then = {});

    private:
        std::shared_ptr<RunTable> table_;
        std::shared_ptr<Endpoint> endpoint_;
        ThreadId thread_;
        Key key_;
        std::shared_ptr<ActiveRun> run_;
    };
    /// Errors: ThreadBusyError if there is a run on the thread, ThreadStoppingError if that run is to stop;
    /// NotNowError if there are too many runs, or if the table is closed. `owner`: who begins the run.
    std::unique_ptr<Place> reserve(const std::shared_ptr<Endpoint>& endpoint, const ThreadId& thread,
                                   std::shared_ptr<Replay> replay = {}, std::string owner = {});
    /// Returns null if there is none.
    std::shared_ptr<ActiveRun> find(const Endpoint& endpoint, const ThreadId& thread) const;
    std::size_t size() const;
    bool isFull() const;
    /// Calls `call` once when a run has ended, or now if there is a place. It must not throw, and may begin runs.
    void whenFree(std::function<void()> call);
    /// Prevents new runs, and ends those that exist after their current superstep.
    void drain() noexcept;
    /// Ends the runs immediately.
    void stop() noexcept;
    bool waitUntilEmpty(std::chrono::milliseconds patience) const;

private:
    static std::exception_ptr notBegun();
    std::shared_ptr<ActiveRun> add(const Key& key, std::shared_ptr<Replay> replay, std::string owner);
    void end(const Key& key, std::exception_ptr error) noexcept;

    const std::size_t runs_max_;
    const std::exception_ptr not_begun_;  // created before memory runs out
    const std::shared_ptr<Executor> executor_;
    mutable stategraph::detail::Mutex mutex_;
    mutable std::condition_variable changed_;
    std::map<Key, std::shared_ptr<ActiveRun>> runs_ SG_GUARDED_BY(mutex_);
    std::vector<std::function<void()>> waiting_ SG_GUARDED_BY(mutex_);  // one of each room that has to wait
    bool is_closed_ SG_GUARDED_BY(mutex_) = false;
};

}  // namespace stategraph::serve
