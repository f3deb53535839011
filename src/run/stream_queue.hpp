#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/stream.hpp>

namespace stategraph::engine {

/// Holds events between the tasks of a run and the only reader of its stream, which blocks or is a coroutine. While
/// tasks run at the same time as the reader, the queue is bounded. Safe from any thread.
class StreamQueue final : public detail::EventSink {
public:
    /// What happens to a task that writes while the queue is full.
    enum class WhenFull : std::uint8_t {
        wait,  // its thread waits for the reader; the queue holds 1,024 events
        // Throws InvalidArgumentError, because the task may be a coroutine, which Runtime::write cannot suspend; the
        // queue holds 65,536.
        refuse,
    };
    explicit StreamQueue(WhenFull when_full) : when_full_(when_full) {}

    void take(StreamEvent&& event) override;

    /// Call these when tasks begin to run at the same time as the reader, and when all of them have ended.
    void beginTasks();
    void endTasks() noexcept;
    bool hasTasks() const;
    /// Call it when the reader has left: later events of tasks are dropped, and no task waits.
    void close();

    // The following functions are for the reader.

    /// Returns the next event. If there is none, `has_tasks` says whether running tasks may still write one.
    void poll(std::optional<StreamEvent>& event, bool& has_tasks);
    /// Blocks until there is an event, or the tasks have ended.
    void wait();
    /// Blocks until the tasks have ended.
    void waitForTasks();

    /// A suspended reader. It is woken once, under the queue's lock, and must exist until then.
    class Suspended {
    public:
        virtual void wake() noexcept = 0;

    protected:
        ~Suspended() = default;
    };
    /// Like `wait`, but for a reader that is woken by a callback. Returns false if there is nothing to wait for.
    bool suspend(Suspended& reader);
    /// Removes a reader that need not be woken any more.
    void forget(const Suspended& reader) noexcept;

private:
    template <class Done>
    void waitUntil(Done is_done);
    std::size_t sizeMax() const noexcept { return when_full_ == WhenFull::wait ? 1024 : 65'536; }
    bool isFull() const noexcept SG_REQUIRES(mutex_) { return has_tasks_ && events_.size() >= sizeMax(); }
    void wakeReader() noexcept SG_REQUIRES(mutex_);

    const WhenFull when_full_;
    mutable detail::Mutex mutex_;
    std::condition_variable changed_;  // wakes the reader
    std::condition_variable room_;     // wakes tasks
    std::deque<StreamEvent> events_ SG_GUARDED_BY(mutex_);
    Suspended* suspended_ SG_GUARDED_BY(mutex_) = nullptr;
    std::size_t waiting_tasks_ SG_GUARDED_BY(mutex_) = 0;  // tasks that wait for room
    bool is_reader_waiting_ SG_GUARDED_BY(mutex_) = false;
    bool has_tasks_ SG_GUARDED_BY(mutex_) = false;
    bool is_closed_ SG_GUARDED_BY(mutex_) = false;
};

}  // namespace stategraph::engine
