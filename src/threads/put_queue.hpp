#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/saver.hpp>

namespace stategraph {
class Executor;
}

namespace stategraph::engine {

/// The puts of one log that are stored while its run continues: in order, one at a time. A saver that answers later
/// (BaseCheckpointSaver::answersLater) is called without a thread that waits; another slow one is called on a thread of
/// the executor.
///
/// A blocking run with async durability uses `put`, which waits until there is room, so that a crash loses no more than
/// the saver allows (BaseCheckpointSaver::commitsAhead; one commit, if it does not answer later). A thread that waits
/// for a request that no thread of the executor has begun executes it itself, because all of them may be waiting.
///
/// An awaited run uses `add`, which never waits, and awaits (`suspend`) that there is room where a blocking run would
/// wait for its put. So at most one request is under way. Commits that are added meanwhile are one request, and so are
/// pending writes. If one of several pending writes is refused because its row has changed, each is put on its own, so
/// that the others are stored.
///
/// It waits for the request under way when it is destroyed. Safe from any thread.
class PutQueue {
public:
    /// Learns that a put has ended.
    class Listener {
    public:
        /// Called once, on any thread, under the queue's lock, before anything that waits for the queue continues.
        virtual void ended(std::exception_ptr failure) noexcept = 0;

    protected:
        ~Listener() = default;
    };

    /// Learns that commits are stored, while their run continues.
    class Watcher {
    public:
        /// Called on any thread, without the queue's lock, before anything that waits for the queue continues.
        virtual void stored() noexcept = 0;

    protected:
        ~Watcher() = default;
    };

    /// `ahead`: at most this many commits may be under way or wait; at least 1. `watcher` may be null, and must outlive
    /// the queue.
    explicit PutQueue(std::size_t ahead = 1, Watcher* watcher = nullptr) noexcept : ahead_(ahead), watcher_(watcher) {}
    ~PutQueue();
    PutQueue(const PutQueue&) = delete;
    PutQueue& operator=(const PutQueue&) = delete;

    /// What a request is, which decides what follows if it fails.
    enum class Kind : std::uint8_t {
        commit,  // later requests build on it, and are not stored; the failure is thrown from then on
        writes,  // pending writes alone; later requests are stored, and the failure is thrown once
        effect,  // pending writes too, but the thread that added them waits for them and receives the failure
        hint,    // only the index of threads uses it, so the failure is ignored
    };
    class Put;
    using PutPointer = std::shared_ptr<Put>;
    /// What was added: a put, or a part of one.
    struct Added {
        PutPointer put;
        std::size_t part = 0;
    };

    /// Copies the request. Waits until there is room if it is only commits, and otherwise until no request is under
    /// way. Throws the error of an earlier request.
    void put(Executor& executor, BaseCheckpointSaver& saver, const PutRequest& request);
    /// Copies the request, and begins it once those before it have ended. `saver` answers later. Throws the error of
    /// an earlier commit. Returns what `wait` takes; several requests may be one put.
    Added add(BaseCheckpointSaver& saver, const PutRequest& request, Kind kind);
    /// Adds an effect, and tells `listener`, which the queue keeps until then, when it has ended. If this throws, it
    /// tells nothing.
    void addEffect(BaseCheckpointSaver& saver, const PutRequest& request, std::shared_ptr<Listener> listener);

    /// Blocks until no request is under way. Throws as `check`.
    void wait();
    /// Blocks until there is room. Throws as `check`.
    void waitForRoom();
    /// Blocks until no commit is under way. Throws the error of a failed one.
    void waitForCommits();
    /// Blocks until this has ended. Throws its error.
    void wait(const Added& added);

    /// Throws the error of a failed commit at each call, or of failed pending writes once.
    void check();
    /// Returns whether pending writes or a commit could not be stored.
    bool hasFailed() const;

    /// What a suspended coroutine waits for.
    enum class Until : std::uint8_t {
        idle,     // no request is under way
        commits,  // no commit is under way
        room,     // another commit may be added: only commits are under way or wait, and fewer than may be
    };
    /// A suspended coroutine. It is woken once, under the queue's lock, and must exist until then.
    class Suspended {
    public:
        virtual void wake() noexcept = 0;

        // For the queue, under its lock.
        struct Place {
            Until until = Until::idle;
            Suspended* next = nullptr;
        };
        Place place = {};

    protected:
        ~Suspended() = default;
    };
    /// Has it woken when that has come. Returns false if there is nothing to wait for.
    bool suspend(Suspended& waiting, Until until);
    /// Returns whether `suspend` would return false.
    bool hasCome(Until until) const;
    /// Removes one that need not be woken any more.
    void forget(const Suspended& waiting) noexcept;

private:
    Added add(BaseCheckpointSaver& saver, const PutRequest& request, Kind kind, std::shared_ptr<Listener> listener);
    void end(Put& put, std::exception_ptr failure) noexcept;
    void endApart(Put& put) noexcept;
    void noteFailure(Put& put, std::exception_ptr failure, PutPointer& dropped) noexcept SG_REQUIRES(mutex_);
    void append(PutPointer put) noexcept SG_REQUIRES(mutex_);
    void count(const Put& put) noexcept SG_REQUIRES(mutex_);
    void uncount(const Put& put) noexcept SG_REQUIRES(mutex_);
    bool hasComeLocked(Until until) const noexcept SG_REQUIRES(mutex_);
    void wakeThose() noexcept SG_REQUIRES(mutex_);
    void waitQuietly(std::unique_lock<std::mutex>& lock, Until until) SG_REQUIRES(mutex_);
    void checkLocked() SG_REQUIRES(mutex_);

    // A put whose parts are put one after the other may do so without returning.
    static constexpr std::size_t parts_max = 256;

    const std::size_t ahead_;
    Watcher* const watcher_;
    mutable detail::Mutex mutex_;
    std::condition_variable ended_;
    PutPointer current_ SG_GUARDED_BY(mutex_);  // the put under way; null: none is
    PutPointer first_ SG_GUARDED_BY(mutex_);    // of those that wait for it
    Put* last_ SG_GUARDED_BY(mutex_) = nullptr;
    std::size_t commits_ SG_GUARDED_BY(mutex_) = 0;    // under way or waiting
    std::size_t others_ SG_GUARDED_BY(mutex_) = 0;     // requests that are not only commits, under way or waiting
    std::exception_ptr failed_ SG_GUARDED_BY(mutex_);  // of a commit
    std::exception_ptr lost_ SG_GUARDED_BY(mutex_);    // of pending writes, until it is thrown
    bool has_lost_ SG_GUARDED_BY(mutex_) = false;
    Suspended* suspended_ SG_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace stategraph::engine
