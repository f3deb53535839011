#include "src/async/drive.hpp"

#include <algorithm>
#include <optional>

#include <stategraph/detail/run_threads.hpp>

#include "src/async/blocking_call.hpp"
#include "src/async/group.hpp"
#include "src/async/stop_wait.hpp"
#include "src/async/stored.hpp"
#include "src/run/execution.hpp"
#include "src/run/machine.hpp"
#include "src/run/task_turns.hpp"
#include "src/run/task_window.hpp"
#include "src/value/times.hpp"

namespace stategraph::engine {
namespace {

using detail::RunInput;

StopWait waitAfter(Run& run, const Execution& execution, int number) {
    return waitUntil(detail::after(execution.waitTime(number)), run.env().stop.get());
}

// Makes one attempt. Returns false if the task is to be tried again.
Async<bool> tryOnce(Run& run, Task& task, int number, Spread spread) {
    Execution execution(run.env(), task);
    if (execution.isAsync() || (spread == Spread::here && execution.mayBeCalledHere())) {
        const bool done = co_await execution.onceAsync(number);
        co_return done;
    }
    if (spread != Spread::elsewhere) co_return execution.once(number);
    bool done = false;
    const auto call = [&execution, &done, number]() noexcept { done = execution.once(number); };
    co_await BlockingCall(*run.shared().executor, call);
    co_return done;
}

Async<> executeTask(Run& run, Task& task, Spread spread) {
    for (int number = 1;; ++number) {
        const bool done = co_await tryOnce(run, task, number, spread);
        if (done) co_return;
        const Execution execution(run.env(), task);
        co_await waitAfter(run, execution, number);
    }
}

Async<> executeInTurn(Run& run, Spread spread) {
    TaskTurns turns(run.env().memory->superstep.in_turn, run.todo());
    while (Task* const task = turns.next()) {
        const Execution execution(run.env(), *task);
        if (turns.number() > 1) co_await waitAfter(run, execution, turns.number() - 1);
        const bool done = co_await tryOnce(run, *task, turns.number(), spread);
        if (!done) turns.again();
    }
}

// Takes tasks until there are none. As many coroutines do this as tasks may run at the same time.
Async<> takeTasks(Run& run, TaskWindow& window) {
    for (Task* task = window.take(nullptr); task != nullptr; task = window.take(task)) {
        try {
            co_await executeTask(run, *task, Spread::elsewhere);
        } catch (...) {  // there is no memory or thread, so this task fails alone
            Execution(run.env(), *task).couldNotRun(std::current_exception());
        }
    }
}

Async<> executeTogether(Run& run) {
    TaskWindow window(run.env().topology(), run.todo());
    std::vector<Async<>> hands;
    const std::size_t count = std::min(window.hands(), run.shared().concurrency);
    hands.reserve(count);
    for (std::size_t i = 0; i < count; ++i) hands.push_back(takeTasks(run, window));
    Group group(std::move(hands));
    co_await group;
}

bool blocks(Run& run, Task& task) noexcept { return Execution(run.env(), task).isPlain(); }

// If a run is destroyed while it waits, it leaves its thread as it is.
class Leaving {
public:
    explicit Leaving(Machine& machine) noexcept : machine_(&machine) {}
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;
    ~Leaving() {
        if (machine_ != nullptr) machine_->leave(false);
    }
    void isOver() noexcept { machine_ = nullptr; }

private:
    Machine* machine_;
};

}  // namespace

namespace {

// Awaits the head of the line, the end of the time that the run may wait, or the end of the run. Returns whether it
// became the head.
class Turn {
public:
    explicit Turn(RunShared& shared)
        : shared_(shared), wait_(shared.config->thread_id.view(), shared.config->busy_timeout, shared.claimStop()) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
        if (is_in_line_ && shared_.claim.leaveLine()) shared_.claim.release();
    }

    bool await_ready() {
        const RunConfig& config = *shared_.config;
        const bool is_head = shared_.claim.enterLine(*shared_.saver, config.thread_id.view(), config.on_busy,
                                                     config.busy_timeout, come, this);
        is_in_line_ = true;
        return is_head;
    }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> coroutine) {
        wakeup_.prepare(detail::homeOf(coroutine), coroutine);
        const detail::LockGuard lock(mutex_);
        wakeup_.postAt(wait_.until());
        if (shared_.stop != nullptr) watch_.watch(shared_.stop->token());
        is_suspended_ = true;
        if (has_come_) wakeup_.wake();
    }
    bool await_resume() {
        { const detail::LockGuard lock(mutex_); }  // another thread may resume this before await_suspend has returned
        is_in_line_ = false;
        return shared_.claim.leaveLine();
    }
    const ClaimWait& wait() const noexcept { return wait_; }

private:
    static void come(void* context) {
        auto& self = *static_cast<Turn*>(context);
        const detail::LockGuard lock(self.mutex_);
        self.has_come_ = true;
        // Set in addition to the timer; the first of both resumes the coroutine.
        if (self.is_suspended_) self.wakeup_.wake();
    }

    RunShared& shared_;
    const ClaimWait wait_;
    detail::Mutex mutex_;
    detail::Wakeup wakeup_;
    StopWatch watch_{wakeup_};
    bool is_in_line_ = false;
    bool is_suspended_ SG_GUARDED_BY(mutex_) = false;
    bool has_come_ SG_GUARDED_BY(mutex_) = false;
};

}  // namespace

namespace {

bool asksToHold(const BaseCheckpointSaver& saver) noexcept { return saver.holdsThreads() && saver.answersLater(); }

// As ThreadClaim::tryHold, for a saver that asks a server: a thread that may be blocked waits for the answer.
Async<bool> tryHold(RunShared& shared) {
    bool is_held = false;
    std::exception_ptr failure;
    const auto call = [&]() noexcept {
        try {
            is_held = shared.claim.tryHold(*shared.saver);
        } catch (...) {
            failure = std::current_exception();
        }
    };
    co_await BlockingCall(*shared.executor, call);
    if (failure) std::rethrow_exception(failure);
    co_return is_held;
}

}  // namespace

Async<> awaitTurn(RunShared& shared) {
    const RunConfig& config = *shared.config;
    if (shared.saver == nullptr) co_return;
    if (config.on_busy == OnBusy::reject) {
        if (!asksToHold(*shared.saver)) co_return;
        // If another run has the thread, the run is refused when it begins.
        shared.claim.acquire(*shared.saver, config.thread_id.view(), config.on_busy, config.busy_timeout);
        (void)co_await tryHold(shared);
        co_return;
    }
    Turn turn(shared);
    const bool is_mine = co_await turn;
    if (is_mine) {
        // A run of another process tells nobody when it ends.
        while (asksToHold(*shared.saver) ? !co_await tryHold(shared) : !shared.claim.tryHold(*shared.saver)) {
            if (turn.wait().isOver()) turn.wait().refuse();
            co_await waitUntil(times::after(Clock::now(), ThreadClaim::look_interval), shared.stop.get());
        }
        co_return;
    }
    turn.wait().refuse();
}

bool isAllInline(Run& run, Spread spread) noexcept {
    if (run.todo().empty()) return true;
    Task& first = *run.todo().front();
    if (run.todo().size() > 1 || !blocks(run, first)) return false;
    return spread != Spread::here || !Execution(run.env(), first).mayBeCalledHere();
}

Async<> executeAllAsync(Run& run, Spread spread) {
    const std::span<Task* const> todo = run.todo();
    if (todo.empty()) co_return;
    try {
        if (todo.size() == 1 && spread == Spread::here) {
            co_await executeTask(run, *todo.front(), spread);
        } else if (std::all_of(todo.begin(), todo.end(), [&](Task* task) { return blocks(run, *task); })) {
            // The tasks are executed as in a blocking run, by a thread that may be blocked.
            const auto call = [&run]() noexcept { run.executeAll(); };
            co_await BlockingCall(*run.shared().executor, call);
        } else if (todo.size() == 1) {
            co_await executeTask(run, *todo.front(), spread);
        } else if (run.shared().concurrency == 1) {
            co_await executeInTurn(run, spread);
        } else {
            co_await executeTogether(run);
        }
    } catch (...) {  // there is no memory or thread, so every task that has not ended fails with that error
        for (Task* task : todo) Execution(run.env(), *task).couldNotRun(std::current_exception());
    }
}

Async<> readFirst(Run& run) {
    if (!run.env().log.isAwaited()) co_return;
    // The checkpoints around it are stored before anything of the inner log (Run::load).
    for (const ParentLink* outer = run.env().link; outer != nullptr; outer = outer->env->link)
        co_await Stored(outer->env->log, PutQueue::Until::commits);
    const auto query = run.toRead();
    if (!query) co_return;
    std::optional<CheckpointTuple> tuple = co_await TupleRead(*run.shared().saver, *query);
    run.haveRead(std::move(tuple));
}

namespace {

Spread spreadAt(const detail::Home& home) noexcept {
    return detail::RunThreads::isHome(home) ? Spread::here : Spread::usual;
}

}  // namespace

// If the saver answers later, no thread waits for it: this awaits it wherever a blocking run waits for a put. All waits
// are in this coroutine, because at the end there may be no memory for another one.
Async<RunOutcome> driveAsync(Run& run, RunInput input) {
    run.awaitPuts();
    Machine machine(run, input);
    Leaving leaving(machine);
    Stored stored(run.env().log);  // one for all waits, which keeps the frame small
    const Spread spread = spreadAt(co_await detail::OwnHome());
    for (Need need = machine.advance(); need != Need::done; need = machine.advance()) {
        if (need == Need::puts) {
            stored.setUntil(machine.until());
            co_await stored;
            machine.settle();
            continue;
        }
        try {
            if (need == Need::turn) {
                co_await awaitTurn(run.shared());
            } else if (need == Need::read) {
                co_await readFirst(run);
            } else if (need == Need::tasks) {
                if (isAllInline(run, spread)) {
                    run.executeAll();
                } else {
                    co_await executeAllAsync(run, spread);
                }
            }
        } catch (...) {
            machine.fail(std::current_exception());
        }
    }
    leaving.isOver();
    co_return std::move(machine.end());
}

}  // namespace stategraph::engine
