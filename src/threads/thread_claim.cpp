#include "src/threads/thread_claim.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>

#include <stategraph/error.hpp>
#include <stategraph/saver.hpp>

#include "src/threads/inside_run.hpp"
#include "src/value/bytes.hpp"
#include "src/value/comparisons.hpp"
#include "src/value/times.hpp"

namespace stategraph::engine {

// The lines of some threads, as lists that link the claims themselves: entering and leaving allocate nothing, and cost
// the same however many claims wait. A line's first claim is the thread's holder, and contains what is known about the
// whole line.
struct alignas(64) ThreadClaim::Shard {
    static constexpr std::size_t chain_count = 64;
    detail::Mutex mutex;
    std::array<ThreadClaim*, chain_count> chains SG_GUARDED_BY(mutex){};  // the first claims of lines, by hash

    // Returns the link to the first claim of a thread's line, or the place for a new line if there is none.
    ThreadClaim** linkOf(const ThreadClaim& claim) noexcept SG_REQUIRES(mutex) {
        ThreadClaim** link = &chains[claim.chain_];
        while (*link != nullptr) {
            ++checkpoint::comparisons;
            if (claim.isFor(**link)) break;
            link = &(*link)->next_line_;
        }
        return link;
    }
};

ThreadClaim::Shard& ThreadClaim::nameThread(const BaseCheckpointSaver& saver, std::string_view thread_id,
                                            OnBusy on_busy) noexcept {
    saver_ = &saver;
    thread_id_ = thread_id;
    replaces_ = on_busy == OnBusy::replace;
    const std::uint64_t hash =
        detail::spread(std::hash<const void*>()(&saver) ^ std::hash<std::string_view>()(thread_id));
    shard_ = static_cast<std::uint8_t>(hash >> 58U);
    chain_ = static_cast<std::uint8_t>(hash >> 52U & (Shard::chain_count - 1));
    return shard();
}

ThreadClaim::Shard& ThreadClaim::shard() const noexcept {
    static constinit std::array<Shard, 64> shards;
    static_assert(std::is_trivially_destructible_v<Shard>, "runs may end after statics are destroyed");
    return shards[shard_];
}

namespace {

void checkTimeout(std::chrono::milliseconds timeout) {
    if (timeout.count() < 0) {
        throw InvalidArgumentError("busy_timeout is " + times::textOf(timeout) + "; it must not be negative");
    }
}

// Throws the error of a run that would wait for the run that is to make the call return.
[[noreturn]] void refuseInside(std::string_view thread_id) {
    throw ThreadBusyError(
        "the call would wait for the run that it was made in: a node, a router or a callback of the run that is under "
        "way on the thread made it, and that run ends only after the call has returned. Make the call when the run has "
        "ended",
        {.thread_id = std::string(thread_id)});
}

}  // namespace

ClaimWait::ClaimWait(std::string_view thread_id, std::chrono::milliseconds timeout, const ClaimStop& stop)
    : thread_id_(thread_id),
      timeout_(timeout),
      stop_(stop.token),
      until_(times::after(std::chrono::steady_clock::now(), timeout)) {
    if (!stop.deadline || *stop.deadline >= until_) return;
    run_ends_first_ = true;
    until_ = *stop.deadline;
}

bool ClaimWait::isOver() const noexcept { return stop_.stop_requested() || std::chrono::steady_clock::now() >= until_; }

void ClaimWait::refuse() const {
    if (run_ends_first_ || stop_.stop_requested())
        throw CancelledError("the run was to end before it had its turn on the thread; nothing was done",
                             {.thread_id = std::string(thread_id_)});
    throw ThreadBusyError(
        "another run is under way on the thread, and did not end within " + times::textOf(timeout_) + " (busy_timeout)",
        {.thread_id = std::string(thread_id_)});
}

// Enters the end of the line. Returns true if that is its beginning too.
bool ThreadClaim::enter(Shard& shard) noexcept {
    shard.mutex.assertHeld();
    ThreadClaim** const link = shard.linkOf(*this);
    ThreadClaim* const holder = *link;
    next_ = nullptr;
    if (holder == nullptr) {
        next_line_ = nullptr;
        previous_ = nullptr;
        last_ = this;
        replacing_ = 0;
        is_first_ = true;
        replaced_.store(false, std::memory_order_relaxed);
        *link = this;
        return true;
    }
    is_first_ = false;
    previous_ = holder->last_;
    previous_->next_ = this;
    holder->last_ = this;
    if (replaces_) {
        ++holder->replacing_;
        holder->replaced_.store(true, std::memory_order_relaxed);
    }
    return false;
}

// Leaves the line from any place. If the claim was the first, the next claim holds the thread, and is notified.
void ThreadClaim::leave(Shard& shard) noexcept {
    shard.mutex.assertHeld();
    ThreadClaim** const link = shard.linkOf(*this);
    ThreadClaim* const holder = *link;
    if (holder != this) {
        previous_->next_ = next_;
        (next_ != nullptr ? next_->previous_ : holder->last_) = previous_;
        if (replaces_) holder->replaced_.store(--holder->replacing_ > 0, std::memory_order_relaxed);
        return;
    }
    is_first_ = false;
    if (next_ == nullptr) {
        *link = next_line_;
        return;
    }
    ThreadClaim& next = *next_;
    next.next_line_ = next_line_;
    next.previous_ = nullptr;
    next.last_ = last_;
    next.replacing_ = replacing_ - (next.replaces_ ? 1 : 0);
    next.replaced_.store(next.replacing_ > 0, std::memory_order_relaxed);
    next.is_first_ = true;
    *link = &next;
    next.giveTurn();
}

void ThreadClaim::giveTurn() noexcept {
    if (waiting_ != nullptr) waiting_->notify_one();
    if (turn_ == nullptr) return;
    try {
        turn_(turn_context_);
    } catch (...) {
        // There is no memory to wake it, so it looks for itself when its time is over.
    }
}

void ThreadClaim::acquire(const BaseCheckpointSaver& saver, std::string_view thread_id, OnBusy on_busy,
                          std::chrono::milliseconds timeout, const ClaimStop& stop) {
    if (holds_) return;
    checkTimeout(timeout);
    Shard& shard = nameThread(saver, thread_id, on_busy);
    detail::UniqueLock lock(shard.mutex);
    if (*shard.linkOf(*this) == nullptr) {
        enter(shard);
    } else {
        if (on_busy == OnBusy::reject) {
            throw ThreadBusyError(
                "another run is under way on the thread; wait for it to end, or choose OnBusy::wait or OnBusy::replace",
                {.thread_id = std::string(thread_id)});
        }
        if (InsideRun::of(**shard.linkOf(*this))) refuseInside(thread_id);
        std::condition_variable_any comes;  // constructed before the claim enters, because this may throw
        enter(shard);
        waiting_ = &comes;
        const ClaimWait wait(thread_id, timeout, stop);
        const bool is_mine = comes.wait_until(lock.native(), stop.token, wait.until(), [this] { return is_first_; });
        waiting_ = nullptr;
        if (!is_mine) {
            leave(shard);
            wait.refuse();
        }
    }
    holds_ = true;
}

ThreadClaim::ThreadClaim() noexcept {}
ThreadClaim::~ThreadClaim() { release(); }

bool ThreadClaim::tryHold(BaseCheckpointSaver& saver) {
    if (!hold_ && saver.holdsThreads()) hold_ = saver.tryHold(thread_id_);
    return hold_ != nullptr || !saver.holdsThreads();
}

void ThreadClaim::hold(BaseCheckpointSaver& saver, OnBusy on_busy, std::chrono::milliseconds timeout,
                       const ClaimStop& stop) {
    if (tryHold(saver)) return;
    if (on_busy == OnBusy::reject) {
        throw ThreadBusyError(
            "a run of another process, or through another saver object, is under way on the thread; "
            "wait for it to end, or choose OnBusy::wait",
            {.thread_id = std::string(thread_id_)});
    }
    const ClaimWait wait(thread_id_, timeout, stop);
    detail::Mutex mutex;
    std::condition_variable_any looks;
    while (!tryHold(saver)) {
        if (wait.isOver()) wait.refuse();
        detail::UniqueLock lock(mutex);
        looks.wait_for(lock.native(), stop.token, look_interval, [] { return false; });
    }
}

bool ThreadClaim::enterLine(const BaseCheckpointSaver& saver, std::string_view thread_id, OnBusy on_busy,
                            std::chrono::milliseconds timeout, Turn turn, void* context) {
    checkTimeout(timeout);
    if (holds_)
        return true;  // a reader of the stream was destroyed while it waited for another process, and came again
    Shard& shard = nameThread(saver, thread_id, on_busy);
    const detail::LockGuard lock(shard.mutex);
    holds_ = enter(shard);
    if (holds_) return true;
    turn_ = turn;
    turn_context_ = context;
    return false;
}

bool ThreadClaim::leaveLine() noexcept {
    Shard& own_shard = shard();
    const detail::LockGuard lock(own_shard.mutex);
    turn_ = nullptr;
    holds_ = is_first_;
    if (!holds_) leave(own_shard);
    return holds_;
}

void ThreadClaim::release() noexcept {
    if (!holds_) return;
    hold_.reset();
    {
        Shard& own_shard = shard();
        const detail::LockGuard lock(own_shard.mutex);
        leave(own_shard);
        holds_ = false;
    }
    takeCancels(nullptr, nullptr);  // waits for a thread that found the cancel function before
}

void ThreadClaim::takeCancels(StoreCancel store, void* context) noexcept {
    const detail::LockGuard lock(storing_);
    store_cancel_ = store;
    store_context_ = context;
    if (store != nullptr) return;
    cancelled_ = Cancelled::no;
    cancelling_.store(Cancelled::no, std::memory_order_relaxed);
}

bool ThreadClaim::endsByCancel() noexcept {
    const detail::LockGuard lock(storing_);
    return cancelled_ == Cancelled::ends;
}

std::optional<bool> ThreadClaim::cancelHolder(const BaseCheckpointSaver& saver, std::string_view thread_id,
                                              bool ends_run, std::chrono::steady_clock::time_point until) {
    constexpr std::chrono::microseconds nap(100);
    ThreadClaim wanted;
    Shard& shard = wanted.nameThread(saver, thread_id, OnBusy::reject);
    for (;;) {
        detail::UniqueLock lock(shard.mutex);
        ThreadClaim* const holder = *shard.linkOf(wanted);
        if (holder == nullptr) return {};
        // The shard must not stay locked while the lock is waited for, because the lock's holder may be waiting for a
        // disk.
        if (std::unique_lock storing(holder->storing_, std::try_to_lock); storing) {
            holder->storing_.assertHeld();
            if (holder->store_cancel_ != nullptr) {
                lock.unlock();  // the holder continues to exist, because it does not end before it has this lock
                // Before anybody can read the cancel, so that the run waits for this lock before its next superstep.
                if (ends_run) holder->cancelling_.store(Cancelled::ends, std::memory_order_relaxed);
                if (!holder->store_cancel_(holder->store_context_)) return false;
                holder->cancelled_ = std::max(holder->cancelled_, ends_run ? Cancelled::ends : Cancelled::goes_on);
                return true;
            }
        }
        lock.unlock();
        if (std::chrono::steady_clock::now() >= until) {
            throw ThreadBusyError(
                "the run or the edit that is under way on the thread could not be cancelled in time (busy_timeout)",
                {.thread_id = std::string(thread_id)});
        }
        std::this_thread::sleep_for(nap);
    }
}

}  // namespace stategraph::engine
