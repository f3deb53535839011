#pragma once
#include <atomic>
#include <coroutine>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <stategraph/detail/core.hpp>
#include <stategraph/detail/node.hpp>
#include <stategraph/executor.hpp>
#include <stategraph/task.hpp>

// What stategraph/async.hpp calls, without users' types.
namespace stategraph::detail {

using SteadyTime = std::chrono::steady_clock::time_point;

Home homeOf(Executor& executor) noexcept;
/// Runs a task to its end, and what it awaits, on the calling thread.
void waitFor(std::coroutine_handle<> task, TaskPromiseBase& promise);
/// That time from now; at most the last that the clock has.
inline SteadyTime after(std::chrono::nanoseconds time) noexcept {
    const SteadyTime now = std::chrono::steady_clock::now();
    return time > SteadyTime::max() - now ? SteadyTime::max() : now + time;
}

/// The home of an awaiting coroutine; the common executor if it has none.
template <class Promise>
Home homeOf(std::coroutine_handle<Promise> coroutine) {
    if constexpr (std::is_base_of_v<TaskPromiseBase, Promise>) {
        const Home home = coroutine.promise().home();
        if (home.ops != nullptr) return home;
    }
    return homeOf(*Executor::common());
}

/// Resumes a coroutine at its home, unless this is destroyed first. Used once.
class Wakeup {
public:
    Wakeup() noexcept = default;
    Wakeup(const Wakeup&) = delete;
    Wakeup& operator=(const Wakeup&) = delete;
    ~Wakeup();

    /// What allocates, ahead of `post`.
    void prepare(Home home, std::coroutine_handle<> coroutine);
    /// After it returns this may be gone. Errors: those of the place; then nothing happens.
    void post();
    /// The same at the first call, from whatever thread. Where the place has no memory, or no thread, it is tried again
    /// until it has.
    void wake() noexcept;
    void postAt(SteadyTime at);

private:
    struct State;
    State* state_ = nullptr;
};

/// Awaits a time.
class Sleep {
public:
    explicit Sleep(SteadyTime at) noexcept : at_(at) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> coroutine) {
        wakeup_.prepare(homeOf(coroutine), coroutine);
        wakeup_.postAt(at_);
    }
    void await_resume() const noexcept {}

private:
    SteadyTime at_;
    Wakeup wakeup_;
};

/// Awaits a thread of an executor.
class Schedule {
public:
    explicit Schedule(Executor& executor) noexcept : executor_(&executor) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> coroutine) {
        const Home home = homeOf(*executor_);
        wakeup_.prepare(home, coroutine);
        if constexpr (std::is_base_of_v<TaskPromiseBase, Promise>) coroutine.promise().setHome(home);
        wakeup_.post();
    }
    void await_resume() const noexcept {}

private:
    Executor* executor_;
    Wakeup wakeup_;
};

/// The home of the coroutine that asks; of one that has none it is `otherwise` from now on, if that is one.
class OwnHome {
public:
    explicit OwnHome(Home otherwise = {}) noexcept : home_(otherwise) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
        TaskPromiseBase& promise = coroutine.promise();
        if (promise.home().ops == nullptr) promise.setHome(home_);
        home_ = promise.home();
        return false;
    }
    Home await_resume() const noexcept { return home_; }

private:
    Home home_;
};

/// A task that nobody awaits.
class Spawned {
public:
    explicit Spawned(std::shared_ptr<Executor> executor) noexcept : executor_(std::move(executor)) {}
    Spawned(const Spawned&) = delete;
    Spawned& operator=(const Spawned&) = delete;
    virtual ~Spawned() = default;
    virtual void start() = 0;
    virtual void end() noexcept = 0;
    Executor& executor() const noexcept { return *executor_; }
    Home home() const noexcept { return homeOf(*executor_); }
    /// Of the task: `self` is a Spawned, which ends with it.
    static void onEnd(void* self);

private:
    std::shared_ptr<Executor> executor_;
};
void start(std::unique_ptr<Spawned> spawned);

/// A run that is driven by the coroutine that awaits it.
class AsyncRun {
public:
    AsyncRun(std::shared_ptr<const Core> core, RunInput&& input, const RunConfig& config);
    ~AsyncRun();
    AsyncRun(const AsyncRun&) = delete;
    AsyncRun& operator=(const AsyncRun&) = delete;
    /// Once. `outcome` and `values`, as for `invoke`, must outlive the task.
    Task<> drive(RunOutcome& outcome, void* values);
    /// Instead of it: stores the input and runs nothing.
    Task<Config> submit();

private:
    struct Impl;
    Owned<Impl> impl_;
};

/// A graph that a coroutine node calls.
class AsyncCall {
public:
    AsyncCall(Runtime& runtime, std::shared_ptr<const Core> core, Writes&& input, std::string&& key);
    ~AsyncCall();
    AsyncCall(const AsyncCall&) = delete;
    AsyncCall& operator=(const AsyncCall&) = delete;
    /// Once. `values`, which must outlive the task, gets what the graph returns.
    Task<> drive(void* values);

private:
    struct Impl;
    Owned<Impl> impl_;
};

/// Awaits several tasks, which run at the same time, until all have ended.
class Together {
public:
    explicit Together(std::vector<std::coroutine_handle<>> tasks, std::vector<TaskPromiseBase*> promises) noexcept
        : tasks_(std::move(tasks)), promises_(std::move(promises)) {}
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;

    bool await_ready() const noexcept { return tasks_.empty(); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> waiter) {
        waiter_ = waiter;
        left_.store(tasks_.size() + 1, std::memory_order_relaxed);
        const Home home = homeOf(waiter);
        for (std::size_t i = 0; i < tasks_.size(); ++i) promises_[i]->startWith(tasks_[i], ended, this, home);
        return left_.fetch_sub(1, std::memory_order_acq_rel) != 1;
    }
    void await_resume() const noexcept {}

private:
    static void ended(void* context) {
        auto& self = *static_cast<Together*>(context);
        const std::coroutine_handle<> waiter = self.waiter_;
        if (self.left_.fetch_sub(1, std::memory_order_acq_rel) == 1) waiter.resume();
    }

    std::vector<std::coroutine_handle<>> tasks_;
    std::vector<TaskPromiseBase*> promises_;
    std::coroutine_handle<> waiter_;
    std::atomic<std::size_t> left_{0};
};

template <class T>
Together together(const std::vector<Task<T>>& tasks) {
    std::vector<std::coroutine_handle<>> handles;
    std::vector<TaskPromiseBase*> promises;
    for (const Task<T>& task : tasks) {
        handles.push_back(task.handle());
        promises.push_back(&task.handle().promise());
    }
    return Together(std::move(handles), std::move(promises));
}

/// The same, which advances when its next event is asked for.
class AsyncStreamRun {
public:
    /// `beside`: where its tasks live if they run beside the reader; it must outlive this. None: on the graph's
    /// executor.
    AsyncStreamRun(std::shared_ptr<const Core> core, RunInput&& input, const RunConfig& config,
                   const StreamOptions& options, Home beside = {});
    ~AsyncStreamRun();
    AsyncStreamRun(const AsyncStreamRun&) = delete;
    AsyncStreamRun& operator=(const AsyncStreamRun&) = delete;
    Task<std::optional<StreamEvent>> next();
    /// As StreamRun::takeOutcome.
    RunOutcome takeOutcome(void* values);

private:
    struct Impl;
    Owned<Impl> impl_;
};

// ------------------------------------------------------------------------------------------- nodes that are coroutines
template <class S, class R>
Task<void> keepLater(Task<R> node, TaskResult& result) {
    if constexpr (std::is_void_v<R>) {
        co_await std::move(node);
        result.writes.clear();
    } else {
        R returned = co_await std::move(node);
        keepResult<S>(std::move(returned), result);
    }
}

/// For inputs that are made for the call: they live as long as the coroutine.
template <class S, class In, class Stored>
Task<void> startWithInput(const Stored& f, const void* input, Runtime& runtime, TaskResult& result) {
    using Returned = std::remove_cvref_t<decltype(callWith<In>(f, std::declval<const In&>(), runtime))>;
    const auto make = [&] { return NodeInput<S, In>::from(input, runtime); };
    FrameLocal<std::remove_cvref_t<decltype(make())>> holder(make);
    const In& in = *holder;
    auto node = AsyncNode<Returned>::task(callWith<In>(f, in, runtime), runtime);
    if constexpr (std::is_void_v<typename AsyncNode<Returned>::Value>) {
        co_await std::move(node);
        result.writes.clear();
    } else {
        auto returned = co_await std::move(node);
        keepResult<S>(std::move(returned), result);
    }
}

template <class S, class In, class Stored>
Task<void> startNode(const void* stored, const void* input, Runtime& runtime, TaskResult& result) {
    const Stored& f = *static_cast<const Stored*>(stored);
    if constexpr (std::is_reference_v<decltype(NodeInput<S, In>::from(input, runtime))>) {
        using Returned = std::remove_cvref_t<decltype(callWith<In>(f, std::declval<const In&>(), runtime))>;
        return keepLater<S>(
            AsyncNode<Returned>::task(callWith<In>(f, NodeInput<S, In>::from(input, runtime), runtime), runtime),
            result);
    } else {
        return startWithInput<S, In>(f, input, runtime, result);
    }
}

/// While what it gives is kept, a coroutine that is not the library's uses what belongs to a node: a node that is
/// awaited, and can be abandoned, is then abandoned where it would be destroyed midway. Null for other nodes, which are
/// not to be destroyed then.
std::shared_ptr<void> keepNode(Runtime& runtime);

/// What a blocking run calls: it waits for the coroutine.
template <class S, class In, class Stored>
void callAsyncNode(const void* stored, const void* input, Runtime& runtime, TaskResult& result) {
    const Stored& f = *static_cast<const Stored*>(stored);
    auto&& holder = NodeInput<S, In>::from(input, runtime);  // lives until the coroutine has ended
    const In& in = holder;
    using Returned = std::remove_cvref_t<decltype(callWith<In>(f, in, runtime))>;
    const auto node = AsyncNode<Returned>::task(callWith<In>(f, in, runtime), runtime);
    auto& promise = node.handle().promise();
    waitFor(node.handle(), promise);
    if constexpr (std::is_void_v<typename AsyncNode<Returned>::Value>) {
        promise.take();
        result.writes.clear();
    } else {
        keepResult<S>(std::move(promise.value()), result);
    }
}

/// How a coroutine type becomes a Task; specialised for others by those who know them (stategraph/asio.hpp).
template <class R>
struct AsyncNode<Task<R>> {
    using Value = R;
    static Task<R> task(Task<R>&& given, Runtime&) { return std::move(given); }
    template <class S, class In, class Stored>
    static constexpr NodeAction::Start start = startNode<S, In, Stored>;
    template <class S, class In, class Stored>
    static constexpr NodeAction::Call call = callAsyncNode<S, In, Stored>;
};

}  // namespace stategraph::detail
