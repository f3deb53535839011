#include <stategraph/executor.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>

#include "src/threads/fork.hpp"
#include "src/threads/waiting.hpp"
#include "src/value/times.hpp"

namespace stategraph {
namespace {

// Waking a sleeping thread takes several microseconds, as much as dozens of tiny tasks. A thread without work therefore
// looks for more for this long before it sleeps. Only one thread of an executor at a time does so, and only if there is
// more than one core.
constexpr std::chrono::microseconds look_out_max{20};
const bool has_cores = std::thread::hardware_concurrency() > 1;

// A batch of brief calls is handed over to other threads at the second glance that finds it, so after one or two of
// these periods. Shorter ones would wake a thread more often than needed.
constexpr std::chrono::milliseconds glance_every{1};
// After so many glances in turn that found no batch, the watching thread sleeps until it is woken.
constexpr int vain_glances_max = 4;

// Returns whether `is_there` became true in that time.
template <class F>
bool lookOut(F is_there) {
    if (!has_cores) return is_there();
    const auto end = std::chrono::steady_clock::now() + look_out_max;
    do {
        for (int i = 0; i < 32; ++i) {
            if (is_there()) return true;
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#endif
        }
    } while (std::chrono::steady_clock::now() < end);
    return false;
}

/// The work of one forEach: each free thread takes the next index.
struct Batch {
    void (*run)(void* context, std::size_t index);
    void* context;
    std::size_t count;
    std::size_t helpers_max;
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> helpers{0};  // the number of helpers requested so far
    detail::Mutex mutex;
    std::condition_variable done;
    std::atomic<std::size_t> finished{0};
    bool was_seen = false;  // by the thread that watches over brief calls; guarded by the executor's mutex

    // Takes indexes until none is left. `before_each` is called before each index that is taken while more are left.
    template <class F>
    void work(F before_each) {
        std::size_t mine = 0;
        for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
            if (i + 1 < count) before_each();
            run(context, i);
            ++mine;
        }
        if (mine == 0) return;
        if (finished.fetch_add(mine) + mine < count) return;
        const detail::LockGuard lock(mutex);  // so that nothing ends between the waiter's check and its wait
        done.notify_all();
    }
    bool isDone() const noexcept { return finished.load() == count; }
    void waitUntilDone() {
        detail::UniqueLock lock(mutex);
        done.wait(lock.native(), [this] { return isDone(); });
    }
};

}  // namespace

// The executor to which the current thread belongs.
static thread_local const void* served = nullptr;

bool engine::servesExecutor() noexcept { return served != nullptr; }

struct Executor::Impl final : std::enable_shared_from_this<Impl>, engine::ForkAware {
    struct Work {
        std::shared_ptr<Batch> batch;  // one of them is set: this, or
        void (*run)(void* context) = nullptr;
        void* context = nullptr;
        std::uint64_t number = 0;
    };

    ExecutorOptions options;
    detail::Mutex mutex;
    std::condition_variable wake;
    std::condition_variable ended;
    std::deque<Work> queue SG_GUARDED_BY(mutex);
    std::uint64_t pushed SG_GUARDED_BY(mutex) = 0;
    std::size_t threads SG_GUARDED_BY(mutex) = 0;
    std::size_t starting SG_GUARDED_BY(mutex) = 0;  // those that have not begun yet, and perhaps never will
    std::size_t idle SG_GUARDED_BY(mutex) = 0;      // threads that sleep
    bool looks_out SG_GUARDED_BY(mutex) = false;    // whether one thread looks for work
    std::atomic<std::size_t> queued{0};             // the size of `queue`; not zero if it is stopping
    bool stopping SG_GUARDED_BY(mutex) = false;
    // Brief calls that only their callers make so far, and the thread that watches over them.
    std::vector<std::shared_ptr<Batch>> brief SG_GUARDED_BY(mutex);
    bool has_watcher SG_GUARDED_BY(mutex) = false;
    bool watcher_sleeps SG_GUARDED_BY(mutex) = false;
    std::condition_variable wake_watcher;
    const engine::FoundByForks found{*this, engine::FoundByForks::Rank::executor};  // the last member

    // Adds work to the queue. With `at_once`, only if a thread is free for it or can be started; otherwise returns
    // false.
    bool push(Work work, bool at_once = false) SG_EXCLUDES(mutex) {
        const auto self = shared_from_this();  // the pushed work may be done, and end the executor, before this returns
        detail::UniqueLock lock(mutex);
        const std::size_t waiting = queue.size() + 1 - (looks_out ? 1 : 0);
        const bool is_full = threads >= options.threads_max;
        if (at_once && is_full && idle < waiting) return false;
        const std::uint64_t number = work.number = ++pushed;
        // Work that must begin immediately must not wait in the queue for a thread that could not be started.
        queue.insert(at_once ? queue.begin() : queue.end(), std::move(work));
        queued.store(queue.size(), std::memory_order_relaxed);
        if (waiting == 0) return true;
        if (idle >= waiting) {
            lock.unlock();
            wake.notify_one();
            return true;
        }
        if (is_full) return true;
        ++threads;
        ++starting;
        lock.unlock();
        try {
            std::thread([self] { self->serve(); }).detach();
            return true;
        } catch (...) {
            lock.lock();
            --starting;
            --threads;
            ended.notify_all();
            if (!at_once && threads > starting) return true;  // the existing threads will execute it
            // The work may never be started. The caller must know that, or it would wait forever.
            if (std::erase_if(queue, [&](const Work& each) { return each.number == number; }) == 0)
                return true;  // another thread has begun it
            queued.store(queue.size(), std::memory_order_relaxed);
            if (at_once) return false;
            throw;
        }
    }

    void lockForFork() noexcept override SG_ACQUIRE(mutex) { mutex.lock(); }
    void unlockAfterFork() noexcept override SG_RELEASE(mutex) { mutex.unlock(); }
    // Its threads and their work exist only in the parent process.
    void restartInChild() noexcept override SG_RELEASE(mutex) {
        queue.clear();
        queued.store(0);
        threads = served == this ? 1 : 0;
        starting = 0;
        idle = 0;
        looks_out = false;
        brief.clear();
        has_watcher = false;
        watcher_sleeps = false;
        ::new (&wake_watcher) std::condition_variable();
        ::new (&wake) std::condition_variable();  // the waiters of the old one do not exist here
        ::new (&ended) std::condition_variable();
        mutex.unlock();
    }

    // Adds one helper, unless there are enough. A helper that finds more work requests the next, so that a burst of
    // tiny tasks wakes few threads, and blocking tasks soon have a thread each.
    void help(const std::shared_ptr<Batch>& batch) SG_EXCLUDES(mutex) {
        if (batch->helpers.load() >= batch->helpers_max) return;
        if (batch->helpers.fetch_add(1) >= batch->helpers_max) return;
        push({.batch = batch});
    }

    // Begins to watch over brief calls. Returns false if no thread can be started that does. The mutex is locked until
    // it has been started, so that no other batch relies on one that does not come.
    bool beginBrief(const std::shared_ptr<Batch>& batch) SG_EXCLUDES(mutex) {
        detail::UniqueLock lock(mutex);
        brief.push_back(batch);
        if (has_watcher) {
            const bool sleeps = std::exchange(watcher_sleeps, false);
            lock.unlock();
            if (sleeps) wake_watcher.notify_one();
            return true;
        }
        try {
            std::thread([self = shared_from_this()] { self->watch(); }).detach();
        } catch (...) {
            brief.pop_back();
            return false;
        }
        has_watcher = true;
        return true;
    }
    void endBrief(const std::shared_ptr<Batch>& batch) noexcept SG_EXCLUDES(mutex) {
        const detail::LockGuard lock(mutex);
        std::erase(brief, batch);
    }

    void watch() SG_EXCLUDES(mutex) {
        std::vector<std::shared_ptr<Batch>> late;
        int vain = 0;
        detail::UniqueLock lock(mutex);
        while (!stopping) {
            vain = brief.empty() ? vain + 1 : 0;
            if (vain > vain_glances_max) {
                watcher_sleeps = true;
                const bool woken =
                    wake_watcher.wait_until(lock.native(), times::after(std::chrono::steady_clock::now(), options.idle),
                                            [this]() SG_REQUIRES(mutex) { return !brief.empty() || stopping; });
                watcher_sleeps = false;
                if (!woken) break;
                vain = 0;
            }
            wake_watcher.wait_until(lock.native(), std::chrono::steady_clock::now() + glance_every,
                                    [this]() SG_REQUIRES(mutex) { return stopping; });
            try {
                late.reserve(brief.size());
            } catch (...) {  // there is no memory, so the next glance tries it again
                continue;
            }
            std::erase_if(brief, [&late](std::shared_ptr<Batch>& batch) {
                if (!std::exchange(batch->was_seen, true)) return false;
                late.push_back(std::move(batch));
                return true;
            });
            if (late.empty()) continue;
            lock.unlock();
            for (const auto& batch : late) {
                try {
                    help(batch);
                } catch (...) {  // there is no thread for a helper, so that its caller does the work
                }
            }
            late.clear();
            lock.lock();
        }
        has_watcher = false;
        ended.notify_all();
    }

    void serve() SG_EXCLUDES(mutex) {
        served = this;
        detail::UniqueLock lock(mutex);
        --starting;
        for (;;) {
            if (queue.empty()) {
                if (stopping) break;
                if (!looks_out && has_cores) {
                    looks_out = true;
                    lock.unlock();
                    const bool found = lookOut([this] { return queued.load(std::memory_order_relaxed) > 0; });
                    lock.lock();
                    looks_out = false;
                    if (found || !queue.empty() || stopping) continue;
                }
                ++idle;
                const bool woken =
                    wake.wait_until(lock.native(), times::after(std::chrono::steady_clock::now(), options.idle),
                                    [this]() SG_REQUIRES(mutex) { return !queue.empty() || stopping; });
                --idle;
                if (!woken) break;
                continue;
            }
            Work work = std::move(queue.front());
            queue.pop_front();
            queued.store(queue.size(), std::memory_order_relaxed);
            lock.unlock();
            if (work.batch) {
                work.batch->work([&] {
                    try {
                        help(work.batch);
                    } catch (...) {  // there is no memory for one more helper, so the existing ones do the work
                    }
                });
            } else {
                work.run(work.context);
            }
            work = {};
            lock.lock();
        }
        --threads;
        ended.notify_all();
    }
};

Executor::Executor(const ExecutorOptions& options) : impl_(std::make_shared<Impl>()) {
    if (options.threads_max < 1) throw InvalidArgumentError("ExecutorOptions::threads_max must be at least 1");
    if (options.idle.count() < 0)
        throw InvalidArgumentError("ExecutorOptions::idle is " + times::textOf(options.idle) +
                                   "; it must not be negative");
    impl_->options = options;
}

Executor::~Executor() {
    detail::UniqueLock lock(impl_->mutex);
    impl_->stopping = true;
    impl_->wake.notify_all();
    impl_->wake_watcher.notify_all();
    if (served == impl_.get()) return;  // the last owner was released on one of its threads, which end by themselves
    impl_->ended.wait(lock.native(),
                      [this]() SG_REQUIRES(impl_->mutex) { return impl_->threads == 0 && !impl_->has_watcher; });
}

void Executor::forEach(std::size_t count, std::size_t concurrency, void (*run)(void* context, std::size_t index),
                       void* context, bool elsewhere) {
    if (count == 0) return;
    const std::size_t hands = std::max<std::size_t>(1, std::min(count, concurrency));
    if (hands == 1 && !elsewhere) {
        for (std::size_t i = 0; i < count; ++i) run(context, i);
        return;
    }
    auto batch = std::make_shared<Batch>();
    batch->run = run;
    batch->context = context;
    batch->count = count;
    batch->helpers_max = elsewhere ? hands : hands - 1;
    bool takes_part = true;
    try {
        if (elsewhere) {
            batch->helpers = 1;
            takes_part = !impl_->push({.batch = batch}, true);
        } else {
            impl_->help(batch);
        }
    } catch (...) {
        // There is no memory for a helper, so the caller does the work.
    }
    if (takes_part) {
        batch->work([&] {});
        if (lookOut([&] { return batch->isDone(); })) return;
    }
    batch->waitUntilDone();
}

void Executor::forEachBrief(std::size_t count, std::size_t concurrency, void (*run)(void* context, std::size_t index),
                            void* context) {
    const std::size_t hands = std::min(count, concurrency);
    if (hands < 2) {
        for (std::size_t i = 0; i < count; ++i) run(context, i);
        return;
    }
    const auto batch = std::make_shared<Batch>();
    batch->run = run;
    batch->context = context;
    batch->count = count;
    batch->helpers_max = hands - 1;
    if (!impl_->beginBrief(batch)) return forEach(count, concurrency, run, context);
    batch->work([] {});
    impl_->endBrief(batch);
    if (!batch->isDone()) batch->waitUntilDone();
}

void Executor::submit(void (*run)(void* context), void* context) {
    (void)impl_->push({.batch = {}, .run = run, .context = context});
}

bool Executor::trySubmit(void (*run)(void* context), void* context) {
    return impl_->push({.batch = {}, .run = run, .context = context}, true);
}

const std::shared_ptr<Executor>& Executor::common() {
    // Never destroyed, because its threads may outlive main.
    static const auto* executor = new std::shared_ptr<Executor>(std::make_shared<Executor>());
    return *executor;
}

}  // namespace stategraph
