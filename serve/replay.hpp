#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/detail/mutex.hpp>

namespace stategraph::serve {

/// The parts of a run's response so far, for a client that connects while the run is under way. Pieces of one text are
/// joined, so that the memory is that of the parts, and not one line for each piece. Each reader has a place of its own
/// in it, and gets every part once. Safe from any thread.
class Replay {
public:
    struct Limits {
        /// The limit for this run's parts. A longer response is no longer recorded, and its readers end
        /// (State::too_long).
        std::size_t bytes = 4U << 20U;
        /// The number of transient parts (progress of custom events) that are kept for slow readers; older ones are
        /// dropped.
        std::size_t transient_parts = 256;
        /// The limit for all replays of the server together.
        std::size_t bytes_of_all = 256U << 20U;
    };
    /// `all` counts the bytes of all replays.
    Replay(Limits limits, std::shared_ptr<std::atomic<std::size_t>> all) : limits_(limits), all_(std::move(all)) {}
    ~Replay();
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

    enum class State : std::uint8_t {
        held,       // the run is about to begin, or to be refused
        open,       // more may follow
        ended,      // all parts are recorded
        too_long,   // the response is longer than the limit
        failed,     // the response could not be recorded, because there was no memory
        not_begun,  // the run was refused, so there is no response
    };
    /// Returns why a client that reconnects cannot be sent the response, or null if the state allows it.
    static const char* reasonOf(State state) noexcept;

    /// A reader that is woken when there is more. The thread that adds calls `wake`, which must not call the replay.
    class Reader {
    public:
        virtual ~Reader() = default;
        virtual void wake() noexcept = 0;
    };
    /// The place that a reader has reached.
    struct Place {
        std::size_t part = 0;
        std::size_t offset = 0;           // set within a text that grows
        std::size_t first_transient = 0;  // transient parts before this one are not for this reader
    };

    /// Adds one line of the protocol "ui". Errors: std::bad_alloc; then nothing is added.
    void add(const std::string& line);
    /// Keeps the readers waiting until `release`, or `end`. Call it before there are readers.
    void hold() noexcept {
        const stategraph::detail::LockGuard lock(mutex_);
        state_ = State::held;
    }
    void release() noexcept;
    /// Ends the replay. Only the first call has an effect.
    void end(State state = State::ended) noexcept;
    /// Returns a place at the beginning, for a reader that is notified until it is destroyed.
    Place join(const std::shared_ptr<Reader>& reader);
    /// Appends the parts after the place, at most about `bytes` (at least one part), and moves the place. Returns the
    /// state once all parts have been read, and `open` while some are left. Nothing is read while the replay is held.
    State read(Place& place, std::size_t bytes, std::vector<std::string>& lines) const;
    State state() const;
    std::size_t bytes() const;

private:
    struct Part {
        std::string head;  // the part up to its text
        std::string text;  // in the form that it has inside JSON's quotes
        bool is_delta = false;
        bool is_transient = false;
    };
    bool grows(const std::string& head) const SG_REQUIRES(mutex_);
    bool makeRoom(std::size_t more) SG_REQUIRES(mutex_);
    void forgetTransient() SG_REQUIRES(mutex_);
    bool takes() const noexcept SG_REQUIRES(mutex_) { return state_ == State::open || state_ == State::held; }
    void wakeReaders() noexcept SG_REQUIRES(mutex_);
    void change(State one, State other, State next) noexcept;

    const Limits limits_;
    const std::shared_ptr<std::atomic<std::size_t>> all_;
    mutable stategraph::detail::Mutex mutex_;
    std::deque<Part> parts_ SG_GUARDED_BY(mutex_);
    std::deque<std::size_t> transient_ SG_GUARDED_BY(mutex_);  // indexes of parts
    std::vector<std::weak_ptr<Reader>> readers_ SG_GUARDED_BY(mutex_);
    std::size_t bytes_ SG_GUARDED_BY(mutex_) = 0;
    State state_ SG_GUARDED_BY(mutex_) = State::open;
};

}  // namespace stategraph::serve
