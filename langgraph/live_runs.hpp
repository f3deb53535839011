#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/saver.hpp>

#include "langgraph/live_run.hpp"
#include "langgraph/records.hpp"
#include "langgraph/service.hpp"

namespace stategraph::langgraph {

/// Removes the thread of a run that has ended, if it was for this run alone: the log, and then the records. Errors: the
/// saver's and the store's.
void removeThreadOf(const Service& service, const RunRecord& run);
/// Deletes a thread as it was read, its log first, while no server begins a run on it. Does nothing if it is gone, if
/// there is another thread of its id, or if `still`, unless it is empty, refuses what is stored now. Returns false if
/// it has a run that has not ended, or had its first one meanwhile. Errors: the saver's and the store's.
bool tryRemoveThread(Service& service, const ThreadRecord& thread,
                     const std::function<bool(const ThreadRecord& stored)>& still = {});
/// The same. Errors: ApiError (409) if it has such a run; the saver's and the store's.
void removeThread(Service& service, const ThreadRecord& thread);

/// The runs of this process: those of each thread one after the other, in the order of creation, and the newest that
/// have ended. While a thread has runs here, this process holds it (BaseCheckpointSaver::tryHold), so that no other
/// server of the same store drives its runs; what nobody holds was left by a process that has ended. Safe from any
/// thread.
class LiveRuns {
public:
    explicit LiveRuns(Service& service) : service_(service) {}

    /// Adds a run after those of its thread, calls `store`, and begins the run when its turn has come. The run's
    /// strategy decides what happens if others of its thread have not ended. Errors: ApiError (409) if it is refused,
    /// also because another server drives the thread's runs, and those of `store`; then nothing was added.
    void add(const std::shared_ptr<LiveRun>& run, const std::function<void()>& store);
    /// Continues the open runs of a thread, in their order, unless another server drives them. `left` are their
    /// records; not empty.
    void adopt(const std::vector<RunRecord>& left);

    /// Null: it is not of this process, or was forgotten.
    std::shared_ptr<LiveRun> find(const std::string& run_id) const;
    /// The run of a thread that began first after a place (LiveRun::order), of those that are not forgotten; null:
    /// none.
    std::shared_ptr<LiveRun> begunAfter(const std::string& thread_id, std::uint64_t order) const;
    /// The run of a thread that began last; null: none, or it was forgotten.
    std::shared_ptr<LiveRun> lastBegun(const std::string& thread_id) const;
    /// Calls `announce` each time that a run of a thread begins, until `unlisten`. It must neither throw nor block.
    std::uint64_t listen(const std::string& thread_id, std::function<void()> announce);
    void unlisten(std::uint64_t listener);
    /// Those of a thread that have not ended, in their order.
    std::vector<std::shared_ptr<LiveRun>> ofThread(const std::string& thread_id) const;
    /// Whether a thread has runs that have not ended, here or on another server. If that server is gone, this one goes
    /// on with them.
    bool isBusy(const std::string& thread_id);
    /// Calls `work` while no server begins a run on a thread; runs that are asked for meanwhile are refused (409).
    /// `saver`: that of the thread's graph; null: only this server is kept from it. Returns false if the thread has
    /// runs that have not ended, or is being worked on; nothing was called then. Errors: those of `work`, and the
    /// saver's and the store's.
    bool whileIdle(const std::string& thread_id, BaseCheckpointSaver* saver, const std::function<void()>& work);
    /// The thread is deleted: a new one of its id has none of its runs (`begunAfter`, `lastBegun`).
    void forgetThread(const std::string& thread_id);
    /// The same for a run.
    void forgetRun(const LiveRun& run);
    /// Has a run stop. One that waits ends immediately. With `rolls_back` what it has stored is removed with it.
    void cancel(LiveRun& run, bool rolls_back = false);

    /// Stores how a run ended, or removes it if it is rolled back; notifies its readers, and deletes its thread if that
    /// was for this run alone.
    void finish(LiveRun& run, const std::string& status, std::string result) noexcept;
    /// The server ends; the next process continues the run. Its readers see that the response breaks off.
    static void leaveOpen(LiveRun& run) noexcept { run.feed().end(false); }

private:
    struct Line {
        std::deque<std::shared_ptr<LiveRun>> runs;
        std::unique_ptr<ThreadHold> hold;
    };
    /// Has the thread held as long as it has a line. Returns false if another server has it, or `whileIdle` does.
    bool hold(const std::string& thread_id, BaseCheckpointSaver& saver) SG_REQUIRES(hold_mutex_);
    /// Has `whileIdle` begin: a hold, or none if the thread has runs.
    std::unique_ptr<ThreadHold> close(const std::string& thread_id, BaseCheckpointSaver* saver);
    void open(const std::string& thread_id, std::unique_ptr<ThreadHold> held) noexcept;
    void addLeftOvers(const std::vector<RunRecord>& left) SG_REQUIRES(hold_mutex_);
    std::vector<std::shared_ptr<LiveRun>> enter(const std::shared_ptr<LiveRun>& run);
    /// Takes a run out of the line of its thread, which is given back if the line is empty then.
    void takeOut(const std::shared_ptr<LiveRun>& run, const std::string& thread_id) noexcept;
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
    void storeEnd(const LiveRun& run, const RunRecord& ended, const std::string& result, bool is_rolled_back) noexcept;
    void remember(const std::shared_ptr<LiveRun>& run) SG_REQUIRES(mutex_);
    void noteBegin(const std::shared_ptr<LiveRun>& run) SG_REQUIRES(mutex_);

    Service& service_;                      // owns this
    stategraph::detail::Mutex hold_mutex_;  // is had while threads are held and given back
    mutable stategraph::detail::Mutex mutex_;
    std::map<std::string, Line> lines_ SG_GUARDED_BY(mutex_);             // by thread
    std::set<std::string> closed_ SG_GUARDED_BY(mutex_);                  // threads that have no new runs now
    std::set<std::string> entering_ SG_GUARDED_BY(mutex_);                // runs that are not stored yet
    std::map<std::string, Clock::Time> called_at_ SG_GUARDED_BY(mutex_);  // by thread: when the clock calls
    std::deque<std::string> without_place_ SG_GUARDED_BY(mutex_);         // threads whose first run has no place
    bool awaits_place_ SG_GUARDED_BY(mutex_) = false;                     // the server calls when there is one
    std::map<std::string, std::shared_ptr<LiveRun>> runs_ SG_GUARDED_BY(mutex_);
    std::deque<std::shared_ptr<LiveRun>> ended_ SG_GUARDED_BY(mutex_);  // the oldest first
    using Begun = std::map<std::pair<std::string, std::uint64_t>, std::shared_ptr<LiveRun>>;
    Begun begun_ SG_GUARDED_BY(mutex_);  // by thread and order: those of runs_ that have begun
    std::uint64_t newest_order_ SG_GUARDED_BY(mutex_) = 0;
    struct Listener {
        std::string thread_id;
        std::function<void()> announce;
    };
    std::map<std::uint64_t, Listener> listeners_ SG_GUARDED_BY(mutex_);
    std::uint64_t next_listener_ SG_GUARDED_BY(mutex_) = 0;
};

}  // namespace stategraph::langgraph
