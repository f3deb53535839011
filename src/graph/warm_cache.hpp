#pragma once
#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/warm_threads.hpp>

// Keeps threads whose runs have ended in memory for their next runs.
namespace stategraph::engine {

/// What a run leaves for the next one; src/commit/warm_thread.hpp defines it.
struct KeptThread {
    KeptThread() = default;
    KeptThread(const KeptThread&) = delete;
    KeptThread& operator=(const KeptThread&) = delete;
    virtual ~KeptThread() = default;
    /// Returns whether a reader has not finished yet. No other reader begins after the state was taken out of the
    /// cache.
    bool isRead() const noexcept { return readers.load(std::memory_order_acquire) > 0; }
    std::size_t bytes = 0;
    mutable std::atomic<int> readers = 0;
};

/// The warm threads of one compiled graph. Safe from several threads. Cost of each call: a lock and a look-up.
class WarmCache {
public:
    explicit WarmCache(const WarmThreads& limits) : limits_(limits) {}

    /// Removes and returns a thread's state, or returns null if there is none.
    std::shared_ptr<KeptThread> take(std::string_view thread_id);
    /// Returns a thread's state without removing it, or null if there is none.
    std::shared_ptr<const KeptThread> read(std::string_view thread_id);
    /// Counts whether a run could begin with the state that it took.
    void note(bool is_hit) noexcept;
    /// Keeps a state in place of the thread's previous one, if there is room for it once older ones have been removed.
    void put(std::string_view thread_id, std::unique_ptr<KeptThread> thread);
    bool hasRoomFor(std::size_t bytes) const noexcept { return bytes <= limits_.bytes_max / 4; }
    WarmThreadStats stats() const;

private:
    using Clock = std::chrono::steady_clock;
    struct Entry {
        std::string thread_id;
        std::shared_ptr<KeptThread> thread;
        Clock::time_point since;
    };
    using Entries = std::list<Entry>;

    // Moves the entry into `out`, because users' values are not destroyed under the lock.
    void drop(Entries::iterator entry, Entries& out) SG_REQUIRES(mutex_);
    void dropOld(Clock::time_point now, Entries& out) SG_REQUIRES(mutex_);

    const WarmThreads limits_;
    mutable detail::Mutex mutex_;
    Entries entries_ SG_GUARDED_BY(mutex_);  // the newest first
    // The keys are views of the entries' texts.
    std::unordered_map<std::string_view, Entries::iterator> by_thread_ SG_GUARDED_BY(mutex_);
    WarmThreadStats stats_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::engine
