#pragma once
/// Coroutines: nodes that `co_await`, and runs that are awaited. It is not part of stategraph.hpp because of its
/// compile time.
///
///     graph.addNode("ask", [](const State& s) -> sg::Task<sg::Update<State>> {
///         std::string text = co_await model.complete(s.prompt);
///         co_return {sg::set<&State::text>(text)};
///     });
///     sg::Task<> serve() { auto result = co_await app.asyncInvoke({sg::set<&State::prompt>("…")}, {.thread_id = "1"}); … }
///     sg::syncWait(serve());
#include <chrono>
#include <condition_variable>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/compiled_graph.hpp>
#include <stategraph/detail/async.hpp>
#include <stategraph/detail/mutex.hpp>
#include <stategraph/executor.hpp>
#include <stategraph/runtime.hpp>
#include <stategraph/task.hpp>

namespace stategraph {

/// Runs a task to its end on the calling thread, which waits while the task waits. Returns the task's value, or throws
/// what the task throws. What the task awaits resumes on this thread too, unless that awaitable resumes elsewhere. It
/// blocks, so do not use it inside coroutines.
template <class T>
T syncWait(Task<T> task) {
    detail::waitFor(task.handle(), task.handle().promise());
    return task.handle().promise().take();
}

/// `co_await sg::sleepFor(50ms)`: resumes after that time at the earliest, on the coroutine's executor (in a run, the
/// run's executor). No thread waits meanwhile. Errors: std::bad_alloc. Cost: one allocation; all sleepers share one
/// timer thread.
[[nodiscard("a sleep does nothing until it is awaited")]] inline detail::Sleep sleepFor(std::chrono::nanoseconds time) {
    return detail::Sleep(detail::after(time));
}
/// Does the same until a given time.
[[nodiscard("a sleep does nothing until it is awaited")]] inline detail::Sleep sleepUntil(
    std::chrono::steady_clock::time_point time) {
    return detail::Sleep(time);
}
/// Does the same in a node, and ends early with CancelledError when the run is stopped or the attempt's time is up.
Task<> sleepFor(Runtime& runtime, std::chrono::nanoseconds time);

namespace detail {
template <class T>
struct TaskValue;
template <class T>
struct TaskValue<Task<T>> {
    using Type = T;
};
}  // namespace detail

/// `Runtime::once` for an effect that is awaited: `fn()` returns a Task of the result. The guarantees are the same; an
/// effect whose end is unknown is repeated, or a question is asked. Of the effects of one task that are awaited at the
/// same time, or inside each other, none may ask (`interrupt`). `fn` is kept until the effect ends: on g++ 12 give a
/// lambda that captures a name, and move it here.
template <class F>
std::invoke_result_t<F&> onceAsync(Runtime& runtime, std::string key, F fn, OnDoubt on_doubt = OnDoubt::repeat) {
    using T = typename detail::TaskValue<std::invoke_result_t<F&>>::Type;
    detail::Effect effect(runtime, key);
    if (effect.result()) co_return detail::resultOf<T>(effect);
    if (on_doubt == OnDoubt::ask && effect.inDoubt()) {
        if (auto answer = effect.ask()) {
            if constexpr (!std::is_void_v<T>) effect.template accept<T>(*answer);
            if (auto put = effect.finishLater(std::move(*answer))) co_await detail::EffectStored(std::move(put));
            co_return detail::resultOf<T>(effect);
        }
    }
    if (on_doubt != OnDoubt::repeat_unclaimed) {
        if (auto put = effect.beginLater()) co_await detail::EffectStored(std::move(put));
    }
    std::optional<detail::CallQuestions> questions(std::in_place, effect, detail::CallQuestions::Of::awaited);
    Task<T> done = fn();
    if constexpr (std::is_void_v<T>) {
        co_await std::move(done);
        questions.reset();
        if (auto put = effect.finishLater({})) co_await detail::EffectStored(std::move(put));
    } else {
        T result = co_await std::move(done);
        questions.reset();
        if (auto put = effect.finishLater(Value(result))) co_await detail::EffectStored(std::move(put));
        co_return result;
    }
}

/// `co_await sg::schedule(executor)`: resumes on one of the executor's threads, there and after all that this coroutine
/// awaits later. The executor must outlive the coroutine.
[[nodiscard("schedule does nothing until it is awaited")]] inline detail::Schedule schedule(Executor& executor) {
    return detail::Schedule(executor);
}

/// `co_await sg::whenAll(std::move(tasks))`: runs the tasks at the same time, on the executor of the awaiting
/// coroutine, and returns their values in order. When all have ended it throws what the first of those that failed
/// threw. Errors: also std::bad_alloc.
template <class T>
Task<std::vector<T>> whenAll(std::vector<Task<T>> tasks) {
    detail::Together all = detail::together(tasks);
    co_await all;
    std::vector<T> values;
    values.reserve(tasks.size());
    for (const Task<T>& task : tasks) values.push_back(task.handle().promise().take());
    co_return values;
}
inline Task<> whenAll(std::vector<Task<>> tasks) {
    detail::Together all = detail::together(tasks);
    co_await all;
    for (const Task<>& task : tasks) task.handle().promise().take();
}

/// How a spawned task ended.
template <class T>
class Outcome {
public:
    /// What the task threw; null if it returned a value.
    const std::exception_ptr& error() const noexcept { return error_; }
    /// The value, once; throws what the task threw.
    T get() {
        if (error_) std::rethrow_exception(error_);
        if constexpr (!std::is_void_v<T>) return std::move(*value_);
    }

    static Outcome of(const Task<T>& task) noexcept {
        Outcome outcome;
        try {
            if constexpr (std::is_void_v<T>) {
                task.handle().promise().take();
            } else {
                outcome.value_.emplace(task.handle().promise().take());
            }
        } catch (...) {
            outcome.error_ = std::current_exception();
        }
        return outcome;
    }

private:
    struct Nothing {};
    std::exception_ptr error_;
    std::optional<std::conditional_t<std::is_void_v<T>, Nothing, T>> value_;
};

/// Starts a task on the threads of an executor, without awaiting it. At its end `done(Outcome<T>)` is called there,
/// once; it must not throw. The executor is kept alive until then. Errors: std::bad_alloc, std::system_error if it has
/// no thread and none can be started.
template <class T, class F>
void spawn(std::shared_ptr<Executor> executor, Task<T> task, F done) {
    struct Spawn final : detail::Spawned {
        Spawn(std::shared_ptr<Executor>&& where, Task<T>&& what, F&& then)
            : Spawned(std::move(where)), task(std::move(what)), done(std::move(then)) {}
        void start() override { task.handle().promise().startWith(task.handle(), &Spawned::onEnd, this, home()); }
        void end() noexcept override {
            Outcome<T> outcome = Outcome<T>::of(task);
            task.reset();  // destroys what it holds before its end is reported
            done(std::move(outcome));
        }
        Task<T> task;
        F done;
    };
    (void)task.handle();
    detail::start(std::make_unique<Spawn>(std::move(executor), std::move(task), std::move(done)));
}

/// A task that was spawned and can be waited for. The task continues if this object is destroyed.
template <class T>
class Spawning {
public:
    /// Blocks until the task ends. Returns its value, once, or throws what it threw.
    T get() {
        detail::UniqueLock lock(state_->mutex);
        state_->ended.wait(lock.native(), [this]() SG_REQUIRES(state_->mutex) { return state_->outcome.has_value(); });
        return state_->outcome->get();
    }
    bool isDone() const {
        const detail::LockGuard lock(state_->mutex);
        return state_->outcome.has_value();
    }

private:
    struct State {
        detail::Mutex mutex;
        std::condition_variable ended;
        std::optional<Outcome<T>> outcome SG_GUARDED_BY(mutex);
    };
    template <class U>
    friend Spawning<U> spawn(std::shared_ptr<Executor> executor, Task<U> task);
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

template <class T>
[[nodiscard]] Spawning<T> spawn(std::shared_ptr<Executor> executor, Task<T> task) {
    Spawning<T> spawning;
    spawn(std::move(executor), std::move(task), [state = spawning.state_](Outcome<T> outcome) {
        const detail::LockGuard lock(state->mutex);
        state->outcome.emplace(std::move(outcome));
        state->ended.notify_all();
    });
    return spawning;
}

/// The events of a run, for coroutines: `while (auto event = co_await stream.next()) …`. The run advances while it is
/// read; a reader that stops early stops it, and the thread can resume from there. One `next` at a time. Not to be
/// moved or destroyed while one is awaited.
template <class Output, class S>
class AsyncStream<Output, S, void> {
public:
    explicit AsyncStream(detail::AsyncStreamRun* run) : run_(run) {}

    /// Returns the next event; none when the run is over. Errors: the run's error, after the events before it.
    Task<std::optional<StreamEvent>> next() { return run_->next(); }
    /// How the run ended, and the state that it left. Errors: InvalidArgumentError before the last event; it can be
    /// read once.
    Result<Output> outcome() { return detail::streamResult<Output, S>(*run_); }

private:
    detail::Owned<detail::AsyncStreamRun> run_;
};

namespace detail {

template <class Output, class S>
Task<Result<Output>> asyncResult(Owned<AsyncRun> run) {
    FrameLocal<Result<Output>> result([] { return Result<Output>(); });
    FrameLocal<StateBox<S>> box([] { return StateBox<S>(); });
    co_await run->drive(*result, box->object());
    result->values = project<Output>(std::move(box->state));
    co_return std::move(*result);
}

}  // namespace detail

template <class S, class Input, class Output>
Task<Result<Output>> CompiledGraph<S, Input, Output>::asyncInvoke(Update<Input> input, const RunConfig& config) const {
    return detail::asyncResult<Output, S>(
        detail::Owned(new detail::AsyncRun(core(), detail::inputOf<S>(std::move(input)), config)));
}

template <class S, class Input, class Output>
Task<Result<Output>> CompiledGraph<S, Input, Output>::asyncInvoke(ResumeTag, const RunConfig& config) const {
    detail::RunInput input;
    input.kind = detail::RunInput::Kind::resume;
    return detail::asyncResult<Output, S>(detail::Owned(new detail::AsyncRun(core(), std::move(input), config)));
}

template <class S, class Input, class Output>
template <class C>
Task<Result<Output>> CompiledGraph<S, Input, Output>::asyncInvoke(const Command<C>& command,
                                                                  const RunConfig& config) const {
    return detail::asyncResult<Output, S>(
        detail::Owned(new detail::AsyncRun(core(), detail::commandOf<S>(Command<C>(command)), config)));
}

namespace detail {

inline Task<Config> asyncSubmitted(Owned<AsyncRun> run) {
    Config config = co_await run->submit();
    co_return config;
}

}  // namespace detail

template <class S, class Input, class Output>
Task<Config> CompiledGraph<S, Input, Output>::asyncSubmit(Update<Input> input, const RunConfig& config) const {
    return detail::asyncSubmitted(
        detail::Owned(new detail::AsyncRun(core(), detail::inputOf<S>(std::move(input)), config)));
}

template <class S, class Input, class Output>
template <class C>
Task<Config> CompiledGraph<S, Input, Output>::asyncSubmit(const Command<C>& command, const RunConfig& config) const {
    return detail::asyncSubmitted(
        detail::Owned(new detail::AsyncRun(core(), detail::commandOf<S>(Command<C>(command)), config)));
}

template <class S, class Input, class Output>
template <class In>
AsyncStream<Output, S> CompiledGraph<S, Input, Output>::asyncStream(const In& input, const RunConfig& config,
                                                                    const StreamOptions& options) const {
    return AsyncStream<Output, S>(
        new detail::AsyncStreamRun(core(), detail::toRunInput<S, Input>(In(input)), config, options));
}

template <class S, class Input, class Output>
AsyncStream<Output, S> CompiledGraph<S, Input, Output>::asyncStream(Update<Input> input, const RunConfig& config,
                                                                    const StreamOptions& options) const {
    return AsyncStream<Output, S>(
        new detail::AsyncStreamRun(core(), detail::inputOf<S>(std::move(input)), config, options));
}

namespace detail {

template <class Output, class S>
Task<Output> calledResult(Owned<AsyncCall> call) {
    FrameLocal<StateBox<S>> box([] { return StateBox<S>(); });
    co_await call->drive(box->object());
    co_return project<Output>(std::move(box->state));
}

}  // namespace detail

template <class S, class Input, class Output>
Task<Output> Runtime::asyncInvoke(const CompiledGraph<S, Input, Output>& graph, Update<Input> input, std::string key) {
    return detail::calledResult<Output, S>(
        detail::Owned(new detail::AsyncCall(*this, graph.core(), detail::widen<S>(std::move(input)), std::move(key))));
}

}  // namespace stategraph
