#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <stategraph/detail/async.hpp>
#include <stategraph/error.hpp>

#include "src/async/timers.hpp"

// Resumes coroutines that wait, and forgets those that are destroyed first.
namespace stategraph::detail {

void refuseTask(bool is_empty) {
    throw InvalidArgumentError(is_empty
                                   ? "the Task has been moved from: there is nothing to await"
                                   : "the Task has been awaited, waited for or spawned before, which can be done once");
}

namespace {

void postToExecutor(void* place, const Work& work) { static_cast<Executor*>(place)->submit(work.run, work.context); }
constexpr HomeOps executor_home{.post = postToExecutor};

}  // namespace

Home homeOf(Executor& executor) noexcept { return {&executor, &executor_home}; }

// Shared by the Wakeup and by the posted work; the last one deletes it.
struct Wakeup::State {
    Home home;
    std::coroutine_handle<> coroutine;
    std::atomic<int> owners{1};
    std::atomic<bool> is_over{false};  // it was resumed, or must not be resumed any more
    std::atomic<bool> is_woken{false};
    void* foreign_timer = nullptr;
    engine::Timer timer;
    engine::Timer waking;  // posted by `wake`, and tried again

    void release() noexcept {
        if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            if (foreign_timer != nullptr) home.ops->endTimer(foreign_timer);
            delete this;
        }
    }
    Work work() noexcept { return {run, drop, this}; }
    static void run(void* context) {
        auto* const state = static_cast<State*>(context);
        const auto resumed = state->is_over.exchange(true, std::memory_order_acq_rel) ? nullptr : state->coroutine;
        state->release();
        if (resumed != nullptr) resumed.resume();
    }
    static void drop(void* context) { static_cast<State*>(context)->release(); }
};

Wakeup::~Wakeup() {
    if (state_ == nullptr) return;
    state_->is_over.store(true, std::memory_order_release);
    if (state_->owners.load(std::memory_order_acquire) > 1) {
        if (state_->is_woken.load(std::memory_order_acquire) && engine::Timers::common().remove(state_->waking))
            state_->release();
        if (state_->foreign_timer != nullptr) {
            state_->home.ops->stopTimer(state_->foreign_timer);
        } else if (engine::Timers::common().remove(state_->timer)) {
            state_->release();  // releases the timer's share
        }
    }
    state_->release();
}

void Wakeup::prepare(Home home, std::coroutine_handle<> coroutine) {
    state_ = new State();
    state_->home = home;
    state_->coroutine = coroutine;
}

void Wakeup::post() {
    State* const state = state_;
    state->owners.fetch_add(1, std::memory_order_relaxed);
    try {
        state->home.ops->post(state->home.place, state->work());
    } catch (...) {
        state->release();
        throw;
    }
}

void Wakeup::wake() noexcept {
    State* const state = state_;
    if (state->is_woken.exchange(true, std::memory_order_acq_rel)) return;
    state->owners.fetch_add(1, std::memory_order_relaxed);
    state->waking.home = state->home;
    state->waking.work = state->work();
    // There is neither memory nor a thread, so the caller waits until there is.
    while (!engine::Timers::common().postAtAll(state->waking))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void Wakeup::postAt(SteadyTime at) {
    State* const state = state_;
    // There are two more owners: the timer may fire before this function ends, and the coroutine that owns the Wakeup
    // may be destroyed then.
    state->owners.fetch_add(2, std::memory_order_relaxed);
    try {
        if (state->home.ops->startTimer != nullptr) {
            state->home.ops->startTimer(state->home.place, at, state->work(), state->foreign_timer);
        } else {
            state->timer = {.at = at, .home = state->home, .work = state->work()};
            engine::Timers::common().add(state->timer);
        }
    } catch (...) {
        state->release();
        state->release();
        throw;
    }
    state->release();
}

}  // namespace stategraph::detail
