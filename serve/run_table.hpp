#pragma once
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <stategraph/executor.hpp>
#include <stategraph/run_control.hpp>
#include <stategraph/serve/endpoint.hpp>

namespace stategraph::serve {

/// A run that a request began. It goes on whoever looks.
class ActiveRun {
public:
    const std::shared_ptr<RunControl>& control() const noexcept { return control_; }
    bool hasEnded() const;
    /// What it failed with; null while it goes on.
    std::exception_ptr error() const;
    /// Has this reader look again when the run has ended.
    void tell(std::shared_ptr<stategraph::detail::SubscriptionImpl> reader);

private:
    friend class RunTable;
    void end(std::exception_ptr error) noexcept;

    const std::shared_ptr<RunControl> control_ = std::make_shared<RunControl>();
    mutable std::mutex mutex_;
    bool ended_ = false;
    std::exception_ptr error_;
    std::shared_ptr<stategraph::detail::SubscriptionImpl> reader_;
};

/// The runs that are under way. Safe from any thread; must be a shared_ptr's.
class RunTable : public std::enable_shared_from_this<RunTable> {
public:
    RunTable(std::size_t runs_max, std::shared_ptr<Executor> executor)
        : runs_max_(runs_max), executor_(std::move(executor)) {}

    /// Keeps a thread for a run that is about to begin; destroyed before that, it lets go of it.
    class Place {
    public:
        Place(std::shared_ptr<RunTable> table, std::shared_ptr<Endpoint> endpoint, const ThreadId& thread);
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;
        ~Place();
        /// Begins the run on the executor; once. `listener` is told of its end, also if it is refused.
        std::shared_ptr<ActiveRun> begin(const Begin& work,
                                         std::shared_ptr<stategraph::detail::SubscriptionImpl> listener);

    private:
        std::shared_ptr<RunTable> table_;
        std::shared_ptr<Endpoint> endpoint_;
        ThreadId thread_;
        std::shared_ptr<ActiveRun> run_;
    };
    /// Errors: ThreadBusyError if there is a run on the thread; InvalidUpdateError if there are too many, or the table
    /// is closed.
    std::unique_ptr<Place> reserve(const std::shared_ptr<Endpoint>& endpoint, const ThreadId& thread);
    /// Null if there is none.
    std::shared_ptr<ActiveRun> find(const Endpoint& endpoint, const ThreadId& thread) const;
    std::size_t size() const;
    /// No more runs begin; those that there are end after their superstep.
    void drain();
    /// Or at once.
    void stop();
    bool waitUntilEmpty(std::chrono::milliseconds patience) const;

private:
    using Key = std::pair<const Endpoint*, std::string>;
    std::shared_ptr<ActiveRun> add(const Key& key);
    void end(const Key& key, std::exception_ptr error) noexcept;

    const std::size_t runs_max_;
    const std::shared_ptr<Executor> executor_;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::map<Key, std::shared_ptr<ActiveRun>> runs_;
    bool is_closed_ = false;
};

}  // namespace stategraph::serve
