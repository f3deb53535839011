#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <semaphore.h>

// One virtual clock, one random number generator, and threads of which exactly one runs at a time: what happens in
// which order depends on the seed alone.
namespace simulation {

/// Since the schedule began.
using Time = std::chrono::microseconds;
using namespace std::chrono_literals;

/// Random numbers of a schedule.
class Chance {
public:
    explicit Chance(std::uint64_t seed) : engine_(seed) {}
    /// 0 to `count` - 1.
    std::size_t below(std::size_t count) { return static_cast<std::size_t>(engine_() % count); }
    bool percent(unsigned of_hundred) { return engine_() % 100 < of_hundred; }
    Time between(Time least, Time most) {
        return least + Time(static_cast<Time::rep>(engine_() % static_cast<std::uint64_t>((most - least).count() + 1)));
    }
    std::uint64_t bits() { return engine_(); }

private:
    std::mt19937_64 engine_;
};

/// A semaphore of the operating system's.
class Semaphore {
public:
    Semaphore() { ::sem_init(&semaphore_, 0, 0); }
    Semaphore(const Semaphore&) = delete;
    Semaphore& operator=(const Semaphore&) = delete;
    ~Semaphore() { ::sem_destroy(&semaphore_); }
    void post() { ::sem_post(&semaphore_); }
    void wait() {
        while (::sem_wait(&semaphore_) != 0) {
        }
    }

private:
    sem_t semaphore_;
};

/// Holds up the threads of a process, as SIGSTOP does, until a time.
struct Freeze {
    Time until{0};
};

/// A thread of the operating system that runs one function of a schedule after the other. It is kept for the next
/// schedule, because creating one costs more than many a schedule.
struct Fiber {
    Semaphore turn;
    std::function<void()> run;   // null: the thread ends
    std::function<void()> done;  // called after it; gives the turn to another
    const Freeze* freeze = nullptr;
    std::uint64_t waits = 0;  // how often it has waited: events for an earlier wait are of no meaning
    std::thread thread;
};

/// The threads that are free.
class FiberPool {
public:
    FiberPool() = default;
    FiberPool(const FiberPool&) = delete;
    FiberPool& operator=(const FiberPool&) = delete;
    ~FiberPool() {
        for (Fiber* each : free_) {
            each->run = nullptr;
            each->turn.post();
            each->thread.join();
            delete each;
        }
    }
    /// One that calls `run` and then `done` when it has its turn.
    Fiber* take() {
        if (!free_.empty()) {
            Fiber* const fiber = free_.back();
            free_.pop_back();
            return fiber;
        }
        auto* const fiber = new Fiber;
        fiber->thread = std::thread([fiber] {
            // Once `done` has given the turn away, only this function's own variables are used.
            for (fiber->turn.wait(); fiber->run; fiber->turn.wait()) {
                const auto done = std::move(fiber->done);
                std::exchange(fiber->run, nullptr)();
                done();
            }
        });
        return fiber;
    }
    void give(Fiber* fiber) { free_.push_back(fiber); }

private:
    std::vector<Fiber*> free_;
};

/// Runs a schedule. The thread that calls `run`, and those that `start` adds, have turns: the thread that waits
/// chooses the next event, and gives the turn to the thread that it is for.
class Scheduler {
public:
    Scheduler(std::uint64_t seed, FiberPool& pool) : chance(seed), pool_(pool) { current_ = &main_; }
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    Time now() const noexcept { return now_; }
    Chance chance;

    /// Calls `action` then. It must not wait.
    void at(Time time, std::function<void()> action) { push({time, 0, nullptr, 0, std::move(action)}); }
    /// Calls `run` on a thread of its own, which `freeze` holds up. `run` must not throw.
    void start(std::function<void()> run, const Freeze* freeze = nullptr) {
        Fiber* const fiber = pool_.take();
        fiber->freeze = freeze;
        ++alive_;
        fiber->run = std::move(run);
        fiber->done = [this, fiber] {
            --alive_;
            ended_.push_back(fiber);
            giveTurn(nullptr);
        };
        push({now_, 0, fiber, ++fiber->waits, {}});
    }
    /// The thread that has its turn.
    Fiber* current() const noexcept { return current_; }
    /// Has the calling thread wait for `wake`, at the longest until that time.
    void suspend(std::optional<Time> until = {}) {
        Fiber* const self = current_;
        ++self->waits;
        if (until) push({*until, 0, self, self->waits, {}});
        giveTurn(self);
    }
    void sleep(Time time) { suspend(now_ + time); }
    /// Ends the wait of a thread, if it waits.
    void wake(Fiber* fiber) { push({now_, 0, fiber, fiber->waits, {}}); }

    /// Returns when nothing is left to happen, or `most` events did. Threads that still wait then stay so: false.
    bool run(std::size_t most) {
        most_ = left_ = most;
        giveTurn(&main_);
        for (Fiber* each : ended_) pool_.give(each);
        ended_.clear();
        return alive_ == 0 && events_.empty();
    }
    std::size_t alive() const noexcept { return alive_; }
    std::size_t events() const noexcept { return most_ - left_; }

private:
    struct Event {
        Time time;
        std::uint64_t number;
        Fiber* fiber;  // that has its turn then; null: `action` is called
        std::uint64_t wait;
        std::function<void()> action;
    };
    struct Later {
        bool operator()(const Event& a, const Event& b) const {
            return std::pair(a.time, a.number) > std::pair(b.time, b.number);
        }
    };

    void push(Event event) {
        event.number = ++numbers_;
        if (event.time < now_) event.time = now_;
        events_.push(std::move(event));
    }

    // Whose turn is next; the main thread's, when nothing is left.
    Fiber* next() {
        while (!events_.empty() && left_ > 0) {
            Event event = std::move(const_cast<Event&>(events_.top()));
            events_.pop();
            now_ = event.time;
            if (!event.fiber) {
                --left_;
                event.action();
                continue;
            }
            if (event.wait != event.fiber->waits) continue;
            if (event.fiber->freeze && event.fiber->freeze->until > now_) {
                event.time = event.fiber->freeze->until;
                push(std::move(event));
                continue;
            }
            --left_;
            ++event.fiber->waits;
            return event.fiber;
        }
        return &main_;
    }

    // `self` may be null: it has ended, and returns to the pool.
    void giveTurn(Fiber* self) {
        Fiber* const to = next();
        if (to == self) return;
        current_ = to;
        to->turn.post();
        if (self) self->turn.wait();
    }

    FiberPool& pool_;
    Fiber main_;
    Fiber* current_ = nullptr;
    Time now_{0};
    std::priority_queue<Event, std::vector<Event>, Later> events_;
    std::uint64_t numbers_ = 0;
    std::size_t most_ = 0;
    std::size_t left_ = 0;
    std::size_t alive_ = 0;
    std::vector<Fiber*> ended_;  // may still be on their way to wait
};

}  // namespace simulation
