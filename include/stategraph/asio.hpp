#pragma once
/// Runs and nodes on Boost.Asio: nodes that are `boost::asio::awaitable<sg::Update<State>>`, and runs that live on an executor of Asio's,
/// with their timers. Includes Boost.Asio, which costs a file more than a second; nothing else of the library does.
///
///     boost::asio::awaitable<void> serve(sg::CompiledGraph<State> app) {
///         const auto executor = co_await boost::asio::this_coro::executor;
///         auto result = co_await sg::asyncInvokeOn(executor, app, {sg::set<&State::x>(1)}, {.thread_id = "1"});
///     }
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <stategraph/async.hpp>
#include <stategraph/control.hpp>

namespace stategraph {
namespace detail {

/// All that threads of the library post to an execution context goes through this service of the context. The destructor of a context empties its
/// queue without a lock, so no thread may post during it. Services are shut down from the newest to the oldest: the gate closes before the queue
/// is emptied. Work that is posted to a closed gate is kept, and dropped with the gate. Thread-safe.
class AsioGate final : public boost::asio::execution_context::service {
public:
    using key_type = AsioGate;
    static inline boost::asio::execution_context::id id;

    explicit AsioGate(boost::asio::execution_context& context) : service(context) {}
    static AsioGate& of(const boost::asio::any_io_executor& executor) {
        return boost::asio::use_service<AsioGate>(boost::asio::query(executor, boost::asio::execution::context));
    }

    ~AsioGate() override {
        for (Slot& slot : slots_) {
            for (const Work& work : slot.late) {
                if (work.drop != nullptr) work.drop(work.context);
            }
        }
    }

    /// One of several, so that threads which post to different places do not wait for each other.
    struct Slot {
        std::mutex mutex;  // held as long as a post takes
        bool is_closed = false;
        std::vector<Work> late;
    };
    Slot& slotOf(const void* place) noexcept { return slots_[reinterpret_cast<std::uintptr_t>(place) / 64 % slots_.size()]; }

private:
    void shutdown() noexcept override {
        for (Slot& slot : slots_) {
            const std::lock_guard lock(slot.mutex);
            slot.is_closed = true;
        }
    }

    std::array<Slot, 32> slots_;
};

/// Work as a handler of Asio's: it is dropped where that is destroyed without having been called.
class AsioWork {
public:
    /// `posting`: held by who posts it until that is done; null: nobody does. Then the execution context, which may go once it was called, is not
    /// used any more.
    explicit AsioWork(const Work& work, std::mutex* posting = nullptr) noexcept : work_(work), posting_(posting) {}
    AsioWork(AsioWork&& other) noexcept : work_(std::exchange(other.work_, Work())), posting_(other.posting_) {}
    AsioWork& operator=(AsioWork&&) = delete;
    ~AsioWork() {
        if (work_.drop != nullptr && !is_arming) work_.drop(work_.context);
    }
    void operator()() {
        const Work work = std::exchange(work_, Work());
        if (posting_ != nullptr) const std::lock_guard posted(*posting_);
        work.run(work.context);
    }
    void operator()(const boost::system::error_code& stopped) {
        if (!stopped) (*this)();
    }

    /// While `arm` runs on this thread nothing is dropped: if it throws, the caller still has the work.
    template <class F>
    static void armed(F arm) {
        struct Arming {
            Arming() noexcept { is_arming = true; }
            ~Arming() { is_arming = false; }
        } arming;
        arm();
    }

private:
    static inline thread_local bool is_arming = false;
    Work work_;
    std::mutex* posting_;
};

/// An executor of Asio's as a place where coroutines go on. It must stay where it is as long as they.
class AsioPlace {
public:
    explicit AsioPlace(boost::asio::any_io_executor executor) : executor_(std::move(executor)), slot_(AsioGate::of(executor_).slotOf(this)) {}
    AsioPlace(const AsioPlace&) = delete;
    AsioPlace& operator=(const AsioPlace&) = delete;

    Home home() noexcept { return {this, &ops}; }
    /// Null: that home is none of Asio's.
    static const boost::asio::any_io_executor* executorOf(Home home) noexcept {
        if (home.ops != nullptr && home.ops->under != nullptr) home = home.ops->under(home.place);
        return home.ops == &ops ? &static_cast<AsioPlace*>(home.place)->executor_ : nullptr;
    }

private:
    using Timer = boost::asio::steady_timer;

    static void post(void* place, const Work& work) {
        const auto& self = *static_cast<AsioPlace*>(place);
        const std::lock_guard posting(self.slot_.mutex);
        if (self.slot_.is_closed) {
            self.slot_.late.push_back(work);
            return;
        }
        AsioWork::armed([&] { boost::asio::post(self.executor_, AsioWork(work, &self.slot_.mutex)); });
    }
    static void startTimer(void* place, std::chrono::steady_clock::time_point at, const Work& work, void*& timer) {
        auto made = std::make_unique<Timer>(static_cast<AsioPlace*>(place)->executor_, at);
        Timer& started = *made;
        timer = made.get();
        try {
            AsioWork::armed([&] { started.async_wait(AsioWork(work)); });
        } catch (...) {
            timer = nullptr;
            throw;
        }
        (void)made.release();
    }
    static void stopTimer(void* timer) { static_cast<Timer*>(timer)->cancel(); }
    static void endTimer(void* timer) { delete static_cast<Timer*>(timer); }

    static constexpr HomeOps ops{.post = post, .startTimer = startTimer, .stopTimer = stopTimer, .endTimer = endTimer};

    const boost::asio::any_io_executor executor_;
    AsioGate::Slot& slot_;
};

/// Awaits a coroutine of Asio's from one of this library's. It is cancelled when `stop` is.
template <class T>
class AsioCall {
public:
    AsioCall(boost::asio::awaitable<T>&& called, std::stop_token stop) : called_(std::move(called)), stop_(std::move(stop)) {}
    AsioCall(const AsioCall&) = delete;
    AsioCall& operator=(const AsioCall&) = delete;
    ~AsioCall() {
        if (!state_) return;
        const std::lock_guard lock(state_->mutex);
        state_->call = nullptr;
    }

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> coroutine) {
        home_ = homeOf(coroutine);
        wakeup_.prepare(home_, coroutine);
        state_ = std::make_shared<State>();
        state_->call = this;
        const boost::asio::any_io_executor* const own = AsioPlace::executorOf(home_);
        is_on_asio_ = own != nullptr;
        const boost::asio::any_io_executor executor = is_on_asio_ ? *own : boost::asio::any_io_executor(boost::asio::system_executor());
        if (!stop_.stop_possible()) {
            boost::asio::co_spawn(executor, std::move(called_), End{state_});
            return;
        }
        // A signal is not to be emitted beside the coroutine that it is for.
        state_->strand = boost::asio::make_strand(executor);
        state_->slot = &AsioGate::of(executor).slotOf(state_.get());
        state_->cancel = std::make_shared<boost::asio::cancellation_signal>();
        const boost::asio::any_io_executor strand = state_->strand;
        const std::lock_guard suspending(mutex_);
        boost::asio::co_spawn(strand, std::move(called_), boost::asio::bind_cancellation_slot(state_->cancel->slot(), End{state_}));
        stops_.emplace(std::move(stop_), Cancel{state_});
    }
    T await_resume() {
        { const std::lock_guard lock(mutex_); }  // who resumes this may be quicker than await_suspend
        if (error_) std::rethrow_exception(error_);
        return std::move(*value_);
    }

private:
    /// What is Asio's in it ends with the coroutine, on its threads: this may outlive the execution context.
    struct State {
        AsioCall* call = nullptr;  // null: it was destroyed. Under the mutex
        std::mutex mutex;
        boost::asio::any_io_executor strand;  // none: nothing can be cancelled any more
        AsioGate::Slot* slot = nullptr;       // of the strand's context, and not used after it
        std::shared_ptr<boost::asio::cancellation_signal> cancel;

        void end() {
            const std::lock_guard lock(mutex);
            strand = boost::asio::any_io_executor();
            cancel.reset();
        }
    };
    struct Cancel {
        std::shared_ptr<State> state;
        void operator()() const noexcept {
            const std::lock_guard lock(state->mutex);
            if (!state->strand) return;
            const std::lock_guard posting(state->slot->mutex);
            if (state->slot->is_closed) return;
            try {
                boost::asio::post(state->strand, [signal = state->cancel] { signal->emit(boost::asio::cancellation_type::terminal); });
            } catch (...) {
                // No memory to cancel it: it ends in its own time.
            }
        }
    };
    /// The handler of the coroutine's end. It is destroyed without being called where the execution context is.
    struct End {
        std::shared_ptr<State> state;
        explicit End(std::shared_ptr<State> of) noexcept : state(std::move(of)) {}
        End(End&&) noexcept = default;
        End& operator=(End&&) = delete;
        ~End() {
            if (!state) return;
            state->end();
            const std::lock_guard lock(state->mutex);
            if (state->call != nullptr) state->call->lose();
        }
        void operator()(std::exception_ptr error, T value) {
            const std::shared_ptr<State> told = std::move(state);
            told->end();
            const std::lock_guard lock(told->mutex);
            if (told->call != nullptr) told->call->end(std::move(error), std::move(value));
        }
    };
    void end(std::exception_ptr error, T value) {
        error_ = std::move(error);
        if (!error_) value_.emplace(std::move(value));
        wakeup_.wake();
    }
    // With the execution context goes the run, and this; not if it was given up by the run, which is over.
    void lose() noexcept {
        if (!is_on_asio_ || AsioPlace::executorOf(home_) != nullptr) return;
        error_ = std::make_exception_ptr(boost::system::system_error(boost::asio::error::operation_aborted));
        wakeup_.wake();
    }

    boost::asio::awaitable<T> called_;
    std::stop_token stop_;
    Home home_;
    bool is_on_asio_ = false;
    std::shared_ptr<State> state_;
    std::optional<T> value_;
    std::exception_ptr error_;
    std::mutex mutex_;
    Wakeup wakeup_;
    std::optional<std::stop_callback<Cancel>> stops_;
};

template <class T>
Task<T> awaitAsio(boost::asio::awaitable<T> called, std::stop_token stop) {
    AsioCall<T> call(std::move(called), std::move(stop));
    T value = co_await call;
    co_return value;
}

/// Nodes. In a run on an executor of Asio's they are on it, in other runs on Asio's system executor.
template <class R>
struct AsyncNode<boost::asio::awaitable<R>> : AsyncNode<Task<R>> {
    static Task<R> task(boost::asio::awaitable<R>&& given, Runtime& runtime) {
        return awaitAsio<R>(std::move(given), stopToken(runtime));
    }
};

}  // namespace detail

/// Awaits a task in a coroutine of Asio's. The task, its sleeps and all that it awaits go on on `executor`. Cancelling the awaiting coroutine
/// does not reach the task, whatever it is (of a run it does: `asyncInvokeOn`); destroying the execution context of both destroys both.
/// Errors: what the task throws.
template <class T>
boost::asio::awaitable<T> awaitOn(boost::asio::any_io_executor executor, Task<T> task) {
    // The handler waits with a timer: there the execution context finds it if it is destroyed. Who cancels the timer holds it meanwhile: the
    // handler may run, and this be gone, before `cancel` returns.
    using Timer = boost::asio::steady_timer;
    std::shared_ptr<Timer> end = std::make_shared<Timer>(executor, Timer::time_point::max());
    detail::AsioPlace place(std::move(executor));
    auto start = [&](auto&& handler) {
        end->async_wait([handler = std::move(handler)](const boost::system::error_code&) mutable { std::move(handler)(); });
        const auto coroutine = task.handle();
        const auto isOver = [](void* timer) {
            const std::shared_ptr<Timer> held = *static_cast<std::shared_ptr<Timer>*>(timer);
            held->cancel();
        };
        coroutine.promise().startWith(coroutine, isOver, &end, place.home());
    };
    co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(start, boost::asio::use_awaitable);
    if constexpr (std::is_void_v<T>) {
        task.handle().promise().take();
    } else {
        T value = task.handle().promise().take();
        co_return value;
    }
}

namespace detail {

/// What a slot of Asio's holds while a run is awaited.
struct StopsRun {
    std::shared_ptr<RunControl> control;
    void operator()(boost::asio::cancellation_type type) const {
        using Type = boost::asio::cancellation_type;
        if ((type & (Type::terminal | Type::partial)) != Type::none) control->requestStop();
    }
};

/// A run that nobody can cancel has no control for it, and costs what it costs without.
template <class Make, class T = typename TaskValue<std::invoke_result_t<Make&, const RunConfig&>>::Type>
boost::asio::awaitable<T> awaitRun(boost::asio::any_io_executor executor, Make make, RunConfig config) {
    const boost::asio::cancellation_state cancellation = co_await boost::asio::this_coro::cancellation_state;
    boost::asio::cancellation_slot slot = cancellation.slot();
    if (slot.is_connected()) {
        auto control = std::make_shared<RunControl>(std::shared_ptr<const RunControl>(config.control));
        config.control = control;
        const StopsRun stops{std::move(control)};
        stops(cancellation.cancelled());
        slot.assign(stops);  // cleared by Asio, as any operation's, when what is awaited below has ended
    }
    T value = co_await awaitOn(std::move(executor), make(config));
    co_return value;
}

}  // namespace detail

/// CompiledGraph::asyncInvoke on an executor of Asio's: coroutine nodes, retries' waits and sg::sleepFor are on it. What is given is copied
/// before they return. Nodes that block, beside others, are on the graph's own executor.
///
/// Cancelling the awaiting coroutine (terminal or partial) stops the run, as its control would: it ends with Status::cancelled and a result, and
/// the thread has what was committed. Unless told otherwise (`this_coro::throw_if_cancelled`), Asio then throws operation_aborted at that
/// coroutine's next `co_await`. Only a coroutine that has a cancellation slot pays for it, what a RunControl costs.
template <class S, class Input, class Output>
boost::asio::awaitable<Result<Output>> asyncInvokeOn(boost::asio::any_io_executor executor, const CompiledGraph<S, Input, Output>& app,
                                                     std::type_identity_t<Update<Input>> input,
                                                     const RunConfig& config = RunConfig::defaults()) {
    auto make = [app, input = std::move(input)](const RunConfig& with) mutable { return app.asyncInvoke(std::move(input), with); };
    return detail::awaitRun(std::move(executor), std::move(make), config);
}
template <class S, class Input, class Output>
boost::asio::awaitable<Result<Output>> asyncInvokeOn(boost::asio::any_io_executor executor, const CompiledGraph<S, Input, Output>& app,
                                                     ResumeTag resume, const RunConfig& config) {
    return detail::awaitRun(std::move(executor), [app, resume](const RunConfig& with) { return app.asyncInvoke(resume, with); }, config);
}
template <class S, class Input, class Output, class C>
boost::asio::awaitable<Result<Output>> asyncInvokeOn(boost::asio::any_io_executor executor, const CompiledGraph<S, Input, Output>& app,
                                                     const Command<C>& command, const RunConfig& config) {
    return detail::awaitRun(std::move(executor), [app, command](const RunConfig& with) { return app.asyncInvoke(command, with); }, config);
}

}  // namespace stategraph
