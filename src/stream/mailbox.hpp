#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/stream_hub.hpp>

namespace stategraph::engine {
class RunStop;
}

namespace stategraph::stream {

/// Holds what waits for one subscriber, between the runs' threads and its own: ephemeral events up to a limit, and the
/// notice that the log has more.
class Mailbox {
public:
    using Clock = std::chrono::steady_clock;
    struct Waiting {
        StreamEvent event;
        std::int64_t after;  // the sequence of the checkpoint before it
        std::size_t bytes;
        std::string joined = {};  // texts of later parts of the same message, until the reader takes it
    };

    explicit Mailbox(const SubscribeOptions& options) : options_(options) {}

    /// Called by runs. With OnFull::block they wait for room until the run is to end (`stop`, if anything can end it).
    /// Events that find no room then are dropped and counted, and checkpoints wait in the log.
    void offer(const StreamEvent& event, std::int64_t after, const engine::RunStop* stop);
    void committed(std::int64_t sequence, const engine::RunStop* stop);
    void changed();
    /// Notes that a run has ended. `end` is the event that reports it, or null. A subscription until the end of a run
    /// accepts nothing after that. It never fails: an event for which there is no memory is dropped and counted.
    void runEnds(const StreamEvent* end, std::int64_t after, const engine::RunStop* stop) noexcept;

    /// The following are called by the subscriber. Returns the oldest event if it is before `bound`, or before
    /// `end_bound` if it is the end of a run. If the log is to be read first and has not been `read` so far, returns
    /// none.
    std::optional<Waiting> take(std::int64_t bound, std::int64_t end_bound, bool read);
    /// Returns whether the log is to be read; afterwards it counts as read.
    bool takeChanged();
    /// Notes that a checkpoint has been reported.
    void told(std::int64_t sequence);
    /// Notes that everything that was notified before `takeChanged` has been reported.
    void toldAll();
    /// Waits until there is something to do. Returns false if `deadline` has passed, or if the mailbox was closed.
    bool wait(std::optional<Clock::time_point> deadline);
    /// The alternative to `wait`: `waiter` is called once, when there is something to do. Returns false if there is
    /// something already; then it will not be called. Errors: InvalidArgumentError if another waiter waits.
    struct Waiter {
        void (*wake)(void* context) noexcept;  // called under the mailbox's lock
        void* context;
    };
    bool watch(Waiter& waiter);
    void forget(const Waiter& waiter) noexcept;
    /// Ends the reader's current or next wait.
    void wakeReader() noexcept;
    /// Returns whether `wakeReader` ended the wait.
    bool takeWoken() noexcept;
    /// Returns the sequence of the last checkpoint to be reported, once the run with which the subscription ends has
    /// ended; before that, none.
    std::optional<std::int64_t> endsAfter() const;
    /// What is left when there is no event: nothing; the log, which is to be read again; or the end of a run, which
    /// waits for room.
    enum class Left : std::uint8_t { nothing, log, end };
    Left left() const;

    void close() noexcept;
    bool isClosed() const noexcept { return closed_.load(); }
    bool wasDisconnected() const noexcept { return disconnected_.load(); }
    std::uint64_t dropped() const noexcept { return dropped_.load(); }
    std::size_t waiting() const;
    const SubscribeOptions& options() const noexcept { return options_; }

private:
    bool wants(const StreamEvent& event) const noexcept;
    bool isFull(std::size_t bytes) const noexcept SG_REQUIRES(mutex_);
    template <class Ready>
    bool waitForRoom(std::unique_lock<std::mutex>& lock, const engine::RunStop* stop, Ready has_room)
        SG_REQUIRES(mutex_);
    void dropOldest() SG_REQUIRES(mutex_);
    void push(const StreamEvent& event, std::int64_t after, std::size_t bytes) SG_REQUIRES(mutex_);
    bool joinPart(const StreamEvent& event) SG_REQUIRES(mutex_);
    void disconnect() SG_REQUIRES(mutex_);
    void offerLocked(std::unique_lock<std::mutex>& lock, const StreamEvent& event, std::int64_t after,
                     const engine::RunStop* stop) SG_REQUIRES(mutex_);
    void notifyReader() noexcept SG_REQUIRES(mutex_);
    bool isReady() const noexcept SG_REQUIRES(mutex_) {
        return closed_ || woken_ || !events_.empty() || (changed_ && !is_ending_);
    }

    const SubscribeOptions options_;
    mutable detail::Mutex mutex_;
    std::condition_variable filled_;
    std::condition_variable_any room_;
    std::deque<Waiting> events_ SG_GUARDED_BY(mutex_);
    std::size_t bytes_ SG_GUARDED_BY(mutex_) = 0;
    std::size_t ahead_ SG_GUARDED_BY(mutex_) = 0;  // the number of checkpoints that were notified and not reported
    std::optional<std::int64_t> first_notified_ SG_GUARDED_BY(mutex_);  // checkpoints before it are not counted
    bool changed_ SG_GUARDED_BY(mutex_) = true;
    bool woken_ SG_GUARDED_BY(mutex_) = false;
    Waiter* waiter_ SG_GUARDED_BY(mutex_) = nullptr;
    std::optional<std::int64_t> ends_after_ SG_GUARDED_BY(mutex_);
    bool is_ending_ SG_GUARDED_BY(mutex_) = false;  // whether the event of the end waits for room
    std::atomic<bool> closed_ = false;
    std::atomic<bool> disconnected_ = false;
    std::atomic<std::uint64_t> dropped_ = 0;
};

}  // namespace stategraph::stream
