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

namespace stategraph::engine {
class EffectPut;
}

// The functions that stategraph/async.hpp calls, without users' types.
namespace stategraph::detail {

using SteadyTime = std::chrono::steady_clock::time_point;

Home homeOf(Executor& executor) noexcept;
/// Runs a task, and what it awaits, to its end on the calling thread.
void waitFor(std::coroutine_handle<> task, TaskPromiseBase& promise);
/// The point in time after this duration; at most the last one that the clock can express.
inline SteadyTime after(std::chrono::nanoseconds time) noexcept {
    const SteadyTime now = std::chrono::steady_clock::now();
    return time > SteadyTime::max() - now ? SteadyTime::max() : now + time;
}

/// The home of an awaiting coroutine (where it resumes); the common executor if it has none.
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

    /// Performs the allocations of `post` in advance.
    void prepare(Home home, std::coroutine_handle<> coroutine);
    /// This object may be destroyed when it returns. Errors: those of the place; then it has no effect.
    void post();
    /// Posts on the first of several calls, which may come from any thread. If the place has no memory or no thread,
    /// the post is tried again until it succeeds.
    void wake() noexcept;
    void postAt(SteadyTime at);

private:
    struct State;
    State* state_ = nullptr;
};

/// Awaits that an effect is stored (Effect::beginLater, Effect::finishLater). Throws what the saver throws.
class EffectStored {
public:
    explicit EffectStored(std::shared_ptr<engine::EffectPut> put) noexcept : put_(std::move(put)) {}
    EffectStored(const EffectStored&) = delete;
    EffectStored& operator=(const EffectStored&) = delete;
    ~EffectStored();

    bool await_ready() const noexcept { return put_ == nullptr; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
        wakeup_.prepare(homeOf(coroutine), coroutine);
        return suspend();
    }
    void await_resume() const;

private:
    bool suspend() noexcept;

    std::shared_ptr<engine::EffectPut> put_;
    Wakeup wakeup_;
};

/// Waits until a time.
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

/// Continues on a thread of an executor.
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

/// The home of the calling coroutine. If it has none, `otherwise` becomes its home, if that is set.
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

/// A task that is not awaited.
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
    /// The end of the task: `self` is a Spawned, which is destroyed with it.
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
    /// Runs it; may be called once. `outcome` and `values`, which have the meaning that `invoke` gives them, must
    /// outlive the task.
    Task<> drive(RunOutcome& outcome, void* values);
    /// May be called instead of `drive`: stores the input and runs nothing.
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
    /// Runs it; may be called once. `values`, which must outlive the task, receives what the graph returns.
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

/// A run that is driven by the coroutine that awaits it, and advances when the next event is requested.
class AsyncStreamRun {
public:
    /// `beside`: the home of its tasks if they run at the same time as the reader; it must outlive this object. None:
    /// the graph's executor.
    AsyncStreamRun(std::shared_ptr<const Core> core, RunInput&& input, const RunConfig& config,
                   const StreamOptions& options, Home beside = {});
    ~AsyncStreamRun();
    AsyncStreamRun(const AsyncStreamRun&) = delete;
    AsyncStreamRun& operator=(const AsyncStreamRun&) = delete;
    Task<std::optional<StreamEvent>> next();
    /// Has the contract of StreamRun::takeOutcome.
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

/// For inputs that are created for the call: the coroutine's frame holds them.
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

/// As long as the returned object exists, a coroutine of another library uses what belongs to a node. An awaited node
/// that can be abandoned is then abandoned instead of destroyed. Null for other nodes, which must not be destroyed
/// meanwhile.
std::shared_ptr<void> keepNode(Runtime& runtime);

/// Called by a blocking run, which waits for the coroutine.
template <class S, class In, class Stored>
void callAsyncNode(const void* stored, const void* input, Runtime& runtime, TaskResult& result) {
    const Stored& f = *static_cast<const Stored*>(stored);
    auto&& holder = NodeInput<S, In>::from(input, runtime);  // exists until the coroutine has ended
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

/// Converts a coroutine type to a Task; specialised for other coroutine types in their headers (stategraph/asio.hpp).
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
