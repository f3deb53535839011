#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/mutex.hpp>

#include "worker/lease_queue.hpp"
#include "worker/run_claim.hpp"
#include "worker/shares.hpp"
#include "worker/threads.hpp"

namespace stategraph::workers {

/// The name of a worker without one: the host's name and the process id.
std::string ownName();

/// What a worker does. The thread of `run` uses the queue: it claims, renews and releases threads. The threads of the
/// slots run what was claimed. Everything that differs between a program and a simulation is behind `queue`, `reader`
/// and `threads`, so that one seed decides all that happens in a simulation.
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

    // The threads of the slots.
    void startSlots();
    void endSlots() noexcept;
    void serveSlot() noexcept;
    void runOne(Held& one) noexcept;
    void report(const Held& one, std::optional<WorkOutcome> outcome, const std::string& error) const noexcept;

    // Called by the thread of `run`. Returns false if the worker has ended.
    bool waitForWork() SG_EXCLUDES(mutex);
    std::optional<Clock::time_point> nextTime(Clock::time_point now) const SG_REQUIRES(mutex);
    void abandonAll() noexcept SG_EXCLUDES(mutex);
    void endAsked() SG_EXCLUDES(mutex);
    void endRuns(Clock::time_point now) SG_REQUIRES(mutex);
    std::size_t freeSlots() const SG_REQUIRES(mutex);
    bool isTimeToClaim(Clock::time_point now) const SG_REQUIRES(mutex);
    void giveBack() SG_EXCLUDES(mutex);
    void renew() SG_EXCLUDES(mutex);
    void claim() SG_EXCLUDES(mutex);
    /// Where a claim begins to look in a queue: before what was due when the last thread was claimed, or none, which is
    /// needed now and then.
    std::optional<std::chrono::system_clock::time_point> dueAfter(std::size_t of_queue, Clock::time_point now) const;
    void noteClaims(const ClaimRequest& request, const std::vector<Claim>& claims, Clock::time_point begin);
    /// Returns how many threads were claimed, or none if the queue could not be reached.
    std::optional<std::size_t> claimOnce(std::vector<bool>& is_empty) SG_EXCLUDES(mutex);
    void take(std::vector<Claim> claims, Clock::time_point lease_end) SG_EXCLUDES(mutex);
    void forgetKeys() SG_EXCLUDES(mutex);
    /// Calls the queue. Returns false if that failed, which is reported.
    bool callQueue(const std::function<void()>& call) SG_EXCLUDES(mutex);

    void lose(Held& one) SG_REQUIRES(mutex);
    void count(WorkOutcome outcome) SG_REQUIRES(mutex);

    LeaseQueue& queue;
    BaseCheckpointSaver& reader;
    Threads& threads;
    const WorkerOptions options;
    std::vector<std::unique_ptr<detail::WorkerGraph>> graphs;  // none are added while the worker runs

    mutable detail::Mutex mutex;
    std::condition_variable changed;  // notifies the thread of `run`
    std::condition_variable given;    // notifies the slots
    // By thread. Claims that no slot has taken yet are also in `waiting`.
    std::map<std::string, std::shared_ptr<Held>, std::less<>> held SG_GUARDED_BY(mutex);
    std::deque<std::shared_ptr<Held>> waiting SG_GUARDED_BY(mutex);
    std::vector<Release> declined SG_GUARDED_BY(mutex);  // claimed, but not to be run here
    // Executed without the mutex, because a node's stop callback may call the worker.
    std::vector<Ending> to_end SG_GUARDED_BY(mutex);
    WorkerMetrics metrics SG_GUARDED_BY(mutex);
    std::size_t done SG_GUARDED_BY(mutex) = 0;  // how many of the held claims are to be released or forgotten
    bool is_running SG_GUARDED_BY(mutex) = false;
    bool is_stopping SG_GUARDED_BY(mutex) = false;
    bool is_draining SG_GUARDED_BY(mutex) = false;    // whether runs were asked to end after their superstep
    bool is_abandoning SG_GUARDED_BY(mutex) = false;  // whether runs were then asked to end immediately
    bool is_over SG_GUARDED_BY(mutex) = false;        // whether the slots are to end
    Clock::time_point drain_end SG_GUARDED_BY(mutex);
    // The times of the next tasks of the thread of `run`.
    Clock::time_point next_release SG_GUARDED_BY(mutex);
    Clock::time_point next_renewal SG_GUARDED_BY(mutex);
    Clock::time_point last_renewal SG_GUARDED_BY(mutex);
    Clock::time_point next_claim SG_GUARDED_BY(mutex);
    Clock::time_point next_forgetting SG_GUARDED_BY(mutex);
    Clock::time_point last_claim SG_GUARDED_BY(mutex);
    bool may_be_more SG_GUARDED_BY(mutex) = false;  // whether the last claim got everything that it requested
    bool is_woken SG_GUARDED_BY(mutex) = false;     // whether a notification has come since the last claim

    // The following are used only by the thread of `run`.
    std::size_t slots = 0;  // how many threads were started for them
    Shares shares;
    /// By queue: since when the last claimed thread had been due, and when a claim is to look at all that is due.
    struct Looked {
        std::optional<std::chrono::system_clock::time_point> due;
        Clock::time_point next_full;
    };
    std::vector<Looked> looked;
    std::minstd_rand random;
    std::chrono::milliseconds pause{};  // the pause after an error of the queue, which grows with each error
};

}  // namespace stategraph::workers
