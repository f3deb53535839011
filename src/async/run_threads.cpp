#include <stategraph/detail/run_threads.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <new>
#include <thread>
#include <utility>

#include <stategraph/detail/mutex.hpp>

#include "src/threads/fork.hpp"

// The threads of awaited runs. One more thread, the watcher, looks whether they block.
namespace stategraph::detail {
namespace {

// A thread that does the same for two of these intervals is taken to block.
constexpr std::chrono::microseconds fast_interval{500};
// While no work waits, it matters only that the threads become few again.
constexpr std::chrono::microseconds slow_interval{20'000};
constexpr std::chrono::seconds idle_max{1};

/// Something to do. A call is that of a node, which may keep its thread for ever.
struct Item {
    Work work;
    bool is_call = false;
};

/// A thread of the pool. What others read is atomic, or guarded by the pool's mutex.
struct Seat {
    static constexpr std::uint64_t idle = std::numeric_limits<std::uint64_t>::max();

    const void* pool = nullptr;
    std::atomic<std::uint64_t> begun{idle};  // the watcher's time when it began what it does
    std::atomic<bool> is_calling{false};
    Item next;  // is done by this thread after what it does now
    bool is_at_end = false;
    Seat* other = nullptr;  // in the pool's list
};

// That of the current thread.
thread_local Seat* own_seat = nullptr;

}  // namespace

struct RunThreads::Impl final : std::enable_shared_from_this<Impl>, engine::ForkAware {
    Impl(std::size_t given_few, std::size_t given_most)
        : few(given_few), most(std::max(given_few, given_most)), limit(given_few) {}

    void open() SG_EXCLUDES(mutex);
    void add(const Item& item) SG_EXCLUDES(mutex);
    void join() noexcept SG_EXCLUDES(mutex);
    void taskEnded() noexcept SG_EXCLUDES(mutex) {
        const LockGuard lock(mutex);
        if (--tasks == 0) changed.notify_all();
    }

    void start() SG_REQUIRES(mutex);
    // One more thread becomes active. Returns false if none can be started.
    bool activate() noexcept SG_REQUIRES(mutex);
    void serve() noexcept SG_EXCLUDES(mutex);
    void serveSeat(Seat& seat) noexcept SG_EXCLUDES(mutex);
    bool perform(Seat& seat, Item item) noexcept;
    bool waitIdle(std::unique_lock<std::mutex>& lock) noexcept SG_REQUIRES(mutex);
    void watch() noexcept SG_EXCLUDES(mutex);
    std::size_t countBlocked() const noexcept SG_REQUIRES(mutex);

    static void post(void* place, const Work& work);
    static constexpr HomeOps ops{.post = post};

    void lockForFork() noexcept override SG_ACQUIRE(mutex) { mutex.lock(); }
    void unlockAfterFork() noexcept override SG_RELEASE(mutex) { mutex.unlock(); }
    // A node forked. Its runs belong to the parent process, so the thread ends when the node has returned.
    void restartInChild() noexcept override SG_RELEASE(mutex) {
        is_forked.store(true);
        ::new (&given) std::condition_variable();
        ::new (&changed) std::condition_variable();
        ::new (&ticked) std::condition_variable();
        mutex.unlock();
    }

    const std::size_t few;
    const std::size_t most;
    mutable Mutex mutex;
    std::condition_variable given;    // to idle threads
    std::condition_variable changed;  // for `join`
    std::condition_variable ticked;   // for the watcher
    std::deque<Item> queue SG_GUARDED_BY(mutex);
    Seat* seats SG_GUARDED_BY(mutex) = nullptr;
    std::size_t threads SG_GUARDED_BY(mutex) = 0;  // without the watcher
    std::size_t active SG_GUARDED_BY(mutex) = 0;   // those that are not idle, or were told to be no longer
    std::size_t told SG_GUARDED_BY(mutex) = 0;     // of them, those that have not noticed yet
    std::size_t limit SG_GUARDED_BY(mutex);        // how many should be active
    std::size_t tasks SG_GUARDED_BY(mutex) = 0;
    std::atomic<std::uint64_t> time{0};  // in intervals, while the watcher watches
    bool has_watcher SG_GUARDED_BY(mutex) = false;
    enum class Pace : std::uint8_t { none, slow, fast };
    Pace pace SG_GUARDED_BY(mutex) = Pace::none;  // of the watcher
    bool is_over SG_GUARDED_BY(mutex) = false;
    std::atomic<bool> is_forked{false};
    const engine::FoundByForks found{*this, engine::FoundByForks::Rank::executor};  // the last member
};

void RunThreads::Impl::open() {
    const LockGuard lock(mutex);
    if (!has_watcher) {
        std::thread([self = shared_from_this()] { self->watch(); }).detach();
        has_watcher = true;
    }
    if (threads == 0) start();
}

void RunThreads::Impl::start() {
    std::thread([self = shared_from_this()] { self->serve(); }).detach();  // it waits for the mutex
    ++threads;
    ++active;
}

bool RunThreads::Impl::activate() noexcept {
    if (active < threads) {
        ++active;
        ++told;
        given.notify_one();
        return true;
    }
    try {
        start();
        return true;
    } catch (...) {  // there is no thread or no memory now; the watcher tries again
        return false;
    }
}

void RunThreads::Impl::add(const Item& item) {
    const LockGuard lock(mutex);
    queue.push_back(item);
    if (active < limit && activate()) return;
    if (pace == Pace::fast) return;
    pace = Pace::fast;
    ticked.notify_one();
}

void RunThreads::Impl::post(void* place, const Work& work) {
    Seat* const seat = own_seat;
    if (seat != nullptr && seat->pool == place && seat->is_at_end && seat->next.work.run == nullptr) {
        seat->next = {work, false};
        return;
    }
    static_cast<Impl*>(place)->add({work, false});
}

void RunThreads::Impl::serve() noexcept {
    Seat seat;
    seat.pool = this;
    own_seat = &seat;
    {
        const LockGuard lock(mutex);
        seat.other = std::exchange(seats, &seat);
    }
    serveSeat(seat);
    own_seat = nullptr;
    if (is_forked.load()) return;
    const LockGuard lock(mutex);
    Seat** place = &seats;
    while (*place != &seat) place = &(*place)->other;
    *place = seat.other;
    --active;
    --threads;
    changed.notify_all();
}

void RunThreads::Impl::serveSeat(Seat& seat) noexcept {
    UniqueLock lock(mutex);
    for (;;) {
        if (queue.empty() || active > limit) {
            if (!waitIdle(lock.native())) return;
            continue;
        }
        const Item item = queue.front();
        queue.pop_front();
        lock.unlock();
        if (!perform(seat, item)) return;
        lock.lock();
    }
}

// Does it, and what it leaves as the next. Returns false in a forked child.
bool RunThreads::Impl::perform(Seat& seat, Item item) noexcept {
    for (;;) {
        seat.begun.store(time.load(std::memory_order_relaxed), std::memory_order_relaxed);
        if (item.is_call) seat.is_calling.store(true);
        item.work.run(item.work.context);
        if (is_forked.load(std::memory_order_relaxed)) return false;
        if (item.is_call) seat.is_calling.store(false);
        if (seat.next.work.run == nullptr) break;
        item = std::exchange(seat.next, {});
    }
    seat.begun.store(Seat::idle, std::memory_order_relaxed);
    return true;
}

// Returns false if the thread is to end; it still counts as active then.
bool RunThreads::Impl::waitIdle(std::unique_lock<std::mutex>& lock) noexcept {
    if (is_over) return false;
    --active;
    if (given.wait_for(lock, idle_max, [this]() SG_REQUIRES(mutex) { return told > 0 || is_over; })) {
        if (told > 0) {
            --told;
            return true;
        }
        ++active;
        return false;
    }
    ++active;
    return threads <= few;
}

std::size_t RunThreads::Impl::countBlocked() const noexcept {
    const std::uint64_t now = time.load(std::memory_order_relaxed);
    std::size_t count = 0;
    for (const Seat* seat = seats; seat != nullptr; seat = seat->other) {
        const std::uint64_t begun = seat->begun.load(std::memory_order_relaxed);
        if (begun != Seat::idle && begun + 2 <= now) ++count;
    }
    return count;
}

// Watches while work waits, or more threads may be used than few.
void RunThreads::Impl::watch() noexcept {
    UniqueLock lock(mutex);
    while (!is_over) {
        const Pace before = pace;
        const auto isCalled = [this, before]() SG_REQUIRES(mutex) { return pace != before || is_over; };
        if (before == Pace::none) {
            ticked.wait(lock.native(), isCalled);
            continue;
        }
        if (ticked.wait_for(lock.native(), before == Pace::fast ? fast_interval : slow_interval, isCalled)) continue;
        time.fetch_add(1, std::memory_order_relaxed);
        limit = std::min(few + countBlocked(), most);
        for (std::size_t i = queue.size(); i > 0 && active < limit; --i) {
            if (!activate()) break;
        }
        pace = !queue.empty() ? Pace::fast : limit > few ? Pace::slow : Pace::none;
    }
    has_watcher = false;
    changed.notify_all();
}

void RunThreads::Impl::join() noexcept {
    const auto haveLeft = [this]() SG_REQUIRES(mutex) {
        std::size_t calling = 0;
        for (const Seat* seat = seats; seat != nullptr; seat = seat->other) calling += seat->is_calling.load() ? 1 : 0;
        return !has_watcher && threads <= calling;
    };
    UniqueLock lock(mutex);
    if (is_forked.load()) return;
    changed.wait(lock.native(), [this]() SG_REQUIRES(mutex) { return tasks == 0; });
    is_over = true;
    given.notify_all();
    ticked.notify_all();
    // A thread that a node keeps has `is_calling` set. The others end soon, and are waited for.
    changed.wait(lock.native(), haveLeft);
}

RunThreads::RunThreads(std::size_t few, std::size_t most) : impl_(std::make_shared<Impl>(few, most)) {}

RunThreads::~RunThreads() { join(); }

void RunThreads::open() { impl_->open(); }

void RunThreads::join() noexcept { impl_->join(); }

std::size_t RunThreads::threads() const {
    const LockGuard lock(impl_->mutex);
    return impl_->threads;
}

namespace {

/// A task that runs. It owns itself.
template <class Pool>
struct Started {
    Started(Task<> given, std::shared_ptr<Pool> of) : task(std::move(given)), pool(std::move(of)) {}
    static void begin(void* self) {
        auto& started = *static_cast<Started*>(self);
        const auto handle = started.task.handle();
        const Home home{started.pool.get(), &Pool::ops};
        handle.promise().startWith(handle, end, self, home);
    }
    static void end(void* self) {
        auto* const started = static_cast<Started*>(self);
        const std::shared_ptr<Pool> pool = started->pool;
        delete started;
        pool->taskEnded();
    }

    Task<> task;
    const std::shared_ptr<Pool> pool;
};

}  // namespace

void RunThreads::run(Task<> task) {
    using OfPool = Started<Impl>;
    auto started = std::make_unique<OfPool>(std::move(task), impl_);
    {
        const LockGuard lock(impl_->mutex);
        ++impl_->tasks;
    }
    try {
        impl_->add({{OfPool::begin, OfPool::end, started.get()}, false});
    } catch (...) {
        impl_->taskEnded();
        throw;
    }
    (void)started.release();
}

bool RunThreads::isHome(const Home& home) noexcept { return home.ops == &Impl::ops; }

void RunThreads::callNext(const Home& home, const Work& call) {
    Seat* const seat = own_seat;
    if (seat != nullptr && seat->pool == home.place && seat->next.work.run == nullptr) {
        seat->next = {call, true};
        return;
    }
    static_cast<Impl*>(home.place)->add({call, true});
}

RunThreads::AtEnd::AtEnd(bool is_end) noexcept : is_end_(is_end && own_seat != nullptr) {
    if (is_end_) own_seat->is_at_end = true;
}

RunThreads::AtEnd::~AtEnd() {
    if (is_end_) own_seat->is_at_end = false;
}

}  // namespace stategraph::detail
