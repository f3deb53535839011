#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/mutex.hpp>

#include "worker/agenda.hpp"
#include "worker/due_places.hpp"
#include "worker/lease_queue.hpp"
#include "worker/queue_turns.hpp"
#include "worker/run_claim.hpp"
#include "worker/shares.hpp"
#include "worker/threads.hpp"

namespace stategraph::workers {

/// The name of a worker without one: the host's name and the process id.
std::string ownName();

/// What a worker does. The thread of `run` claims and releases threads. Another one renews leases, so that no statement
/// that waits keeps it from that. What was claimed is run by coroutines, one for each slot that is taken. Everything
/// that differs between a program and a simulation is behind `queue`, `reader` and `threads`, so that one seed decides
/// all that happens in a simulation.
struct Keeper {
    using Clock = std::chrono::steady_clock;

    /// A run that is to end, immediately or after its superstep.
    struct Ending {
        std::shared_ptr<RunControl> control;
        bool is_now = false;
    };

    /// The options are checked. The references must be valid as long as this object. `reader` reads the threads whose
    /// graphs name no saver of their own.
    Keeper(LeaseQueue& given_queue, BaseCheckpointSaver& given_reader, Threads& given_threads,
           WorkerOptions given_options);

    /// As Worker's.
    void add(std::unique_ptr<detail::WorkerGraph> graph) SG_EXCLUDES(mutex);
    void run();
    void stop() noexcept SG_EXCLUDES(mutex);
    /// A queue may have work to do; empty: any of them. Claims as soon as a slot is free.
    void wake(std::string_view queue_name) noexcept SG_EXCLUDES(mutex);
    /// A thread was cancelled, perhaps one that runs here.
    void wakeForCancel() noexcept SG_EXCLUDES(mutex);
    WorkerMetrics currentMetrics() const SG_EXCLUDES(mutex);

    // What was claimed.
    void start(const std::shared_ptr<Held>& one) noexcept SG_EXCLUDES(mutex);
    Task<> runOne(std::shared_ptr<Held> one);
    Task<std::optional<Release>> runHeld(Held& one);
    /// `release`: none if the lease was lost.
    void end(Held& one, std::optional<Release> release) noexcept SG_EXCLUDES(mutex);
    void report(const Held& one, std::optional<WorkOutcome> outcome) const noexcept;

    // Called by the thread of `run`. Returns false if the worker has ended.
    bool waitForWork() SG_EXCLUDES(mutex);
    void endLeases() noexcept SG_EXCLUDES(mutex);
    std::optional<Clock::time_point> nextTime(Clock::time_point now) const SG_REQUIRES(mutex);
    void abandonAll() noexcept SG_EXCLUDES(mutex);
    void endAsked() SG_EXCLUDES(mutex);
    void endRuns(Clock::time_point now) SG_REQUIRES(mutex);
    std::size_t freeSlots() const SG_REQUIRES(mutex);
    bool isAnyWaiting() const SG_REQUIRES(mutex);
    bool isTimeToClaim(Clock::time_point now) const SG_REQUIRES(mutex);
    void giveBack() SG_EXCLUDES(mutex);
    void beginWaiting() SG_EXCLUDES(mutex);
    void claim() SG_EXCLUDES(mutex);
    struct Round {
        std::size_t claimed = 0;  // threads
        bool has_more = false;    // whether a group gave none, and not all of its queues have had their turn
    };
    /// Returns none if the queue could not be reached.
    std::optional<Round> claimOnce(std::vector<bool>& is_empty) SG_EXCLUDES(mutex);
    /// Adds what is to be claimed from the queue with this index to a request: at most so many threads. Returns false
    /// if the queue could not be reached.
    bool want(ClaimRequest& request, std::size_t index, std::size_t most) SG_EXCLUDES(mutex);
    void take(std::vector<Claim> claims, Clock::time_point lease_end, std::uint64_t cancels) SG_EXCLUDES(mutex);
    void forgetKeys() SG_EXCLUDES(mutex);
    /// Calls the queue. Returns false if that failed, which is reported.
    bool callQueue(const std::function<void()>& call) SG_EXCLUDES(mutex);

    // Called by the thread that renews leases.
    void keepLeases() noexcept SG_EXCLUDES(mutex);
    void renew() SG_EXCLUDES(mutex);
    void enlist() SG_EXCLUDES(mutex);
    void leave() noexcept SG_EXCLUDES(mutex);
    /// What the queue says of a lease. Returns whether it was to be told and is lost only now.
    bool noteRenewal(Held& one, const Renewed* renewed, Clock::time_point begin) SG_REQUIRES(mutex);

    void report(const std::exception_ptr& error) noexcept SG_EXCLUDES(mutex);
    std::vector<ClaimedGraph> claimedGraphs() const;
    /// How many threads run: all that are held, and were begun, and have not ended.
    std::size_t running() const SG_REQUIRES(mutex);
    /// How many threads there may be, those that wait included.
    std::size_t room() const SG_REQUIRES(mutex);
    /// Has the leases renewed soon.
    void hasten() noexcept SG_REQUIRES(mutex);

    void lose(Held& one) SG_REQUIRES(mutex);
    void finish(Held& one) SG_REQUIRES(mutex);
    void count(WorkOutcome outcome) SG_REQUIRES(mutex);

    LeaseQueue& queue;
    BaseCheckpointSaver& reader;
    Threads& threads;
    const WorkerOptions options;
    std::vector<std::unique_ptr<detail::WorkerGraph>> graphs;  // none are added while the worker runs

    mutable detail::Mutex mutex;
    std::condition_variable changed;       // notifies the thread of `run`
    std::condition_variable lease_is_due;  // notifies the thread that renews leases
    std::map<std::string, std::shared_ptr<Held>, std::less<>> held SG_GUARDED_BY(mutex);  // by thread
    std::vector<Release> declined SG_GUARDED_BY(mutex);  // claimed, but not to be run here
    // Executed without the mutex, because a node's stop callback may call the worker.
    std::vector<Ending> to_end SG_GUARDED_BY(mutex);
    WorkerMetrics metrics SG_GUARDED_BY(mutex);
    std::size_t done SG_GUARDED_BY(mutex) = 0;     // how many of the held claims are to be released or forgotten
    std::size_t limited SG_GUARDED_BY(mutex) = 0;  // how many held claims have a limit (Claim::apart), and are not done
    Life life SG_GUARDED_BY(mutex);
    Agenda agenda SG_GUARDED_BY(mutex);

    // Used only by the thread that renews leases.
    std::int64_t number = 0;  // in the queue's list of workers; 0: not yet there

    // The following are used only by the thread of `run`.
    Shares shares;
    DuePlaces due_places;
    QueueTurns turns;
    std::minstd_rand random;
    std::chrono::milliseconds pause{};  // the pause after an error of the queue, which grows with each error
};

}  // namespace stategraph::workers
