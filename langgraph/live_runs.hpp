#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <stategraph/detail/mutex.hpp>

#include "langgraph/live_run.hpp"
#include "langgraph/records.hpp"
#include "langgraph/service.hpp"

namespace stategraph::langgraph {

/// Removes the thread of a run that has ended, if it was for this run alone: the log, and then the records. Errors: the
/// saver's and the store's.
void removeThreadOf(const Service& service, const RunRecord& run);

/// The runs of this process: those of each thread one after the other, in the order of creation, and the newest that
/// have ended. Safe from any thread.
class LiveRuns {
public:
    explicit LiveRuns(Service& service) : service_(service) {}

    /// Adds a run after those of its thread, calls `store`, and begins the run when its turn has come. The run's
    /// strategy decides what happens if others of its thread have not ended. Errors: ApiError (409) if it is refused,
    /// and those of `store`; then nothing was added.
    void add(const std::shared_ptr<LiveRun>& run, const std::function<void()>& store);
    /// Adds what other processes have left.
    void addLeftOver(const std::shared_ptr<LiveRun>& run);

    /// Null: it is not of this process, or was forgotten.
    std::shared_ptr<LiveRun> find(const std::string& run_id) const;
    /// Those of a thread that have not ended, in their order.
    std::vector<std::shared_ptr<LiveRun>> ofThread(const std::string& thread_id) const;
    bool isBusy(const std::string& thread_id) const { return !ofThread(thread_id).empty(); }
    /// Has a run stop. One that waits ends immediately.
    void cancel(LiveRun& run);

    /// Stores how a run ended, tells its readers, and deletes its thread if that was for this run alone.
    void finish(LiveRun& run, const std::string& status, std::string result) noexcept;
    /// The server ends; the next process continues the run. Its readers see that the response breaks off.
    static void leaveOpen(LiveRun& run) noexcept { run.feed().end(false); }

private:
    using Line = std::deque<std::shared_ptr<LiveRun>>;

    std::vector<std::shared_ptr<LiveRun>> enter(const std::shared_ptr<LiveRun>& run);
    void leave(const std::shared_ptr<LiveRun>& run) noexcept;
    /// Begins the first run of a thread, if it waits and is stored. Returns false if the server has no place for it; it
    /// is begun when there is one.
    bool beginFirst(const std::string& thread_id) noexcept;
    void waitForPlace(const std::string& thread_id);
    void beginWaiting() noexcept;
    void begin(const std::shared_ptr<LiveRun>& run);
    /// The run of a thread whose turn it is: the one that has begun, or the first whose time has come. Null: none, and
    /// the clock calls when there is one.
    std::shared_ptr<LiveRun> nextOf(const std::string& thread_id, Line& line) SG_REQUIRES(mutex_);
    void storeEnd(const LiveRun& run, const RunRecord& ended, const std::string& result) noexcept;
    void remember(const std::shared_ptr<LiveRun>& run) SG_REQUIRES(mutex_);

    Service& service_;  // owns this
    mutable stategraph::detail::Mutex mutex_;
    std::map<std::string, Line> lines_ SG_GUARDED_BY(mutex_);             // by thread
    std::set<std::string> entering_ SG_GUARDED_BY(mutex_);                // runs that are not stored yet
    std::map<std::string, Clock::Time> called_at_ SG_GUARDED_BY(mutex_);  // by thread: when the clock calls
    std::deque<std::string> without_place_ SG_GUARDED_BY(mutex_);         // threads whose first run has no place
    bool awaits_place_ SG_GUARDED_BY(mutex_) = false;                     // the server calls when there is one
    std::map<std::string, std::shared_ptr<LiveRun>> runs_ SG_GUARDED_BY(mutex_);
    std::deque<std::shared_ptr<LiveRun>> ended_ SG_GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace stategraph::langgraph
