#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
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
#include <boost/system/system_error.hpp>

#include <stategraph/async.hpp>
#include <stategraph/control.hpp>
#include <stategraph/detail/mutex.hpp>

// The implementation of stategraph/asio.hpp: Asio's executors as places where coroutines resume, and its coroutines as
// tasks.
namespace stategraph::detail {

/// Threads of the library post to an execution context only through this service of the context. The destructor of a
/// context empties its queue without a lock, so no thread may post during it. Services are shut down from the newest to
/// the oldest: the gate closes before the queue is emptied. Work that is posted to a closed gate is kept, and dropped
/// with the gate. Thread-safe.
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

    /// One of several gates, so that threads which post to different places do not wait for each other.
    struct Slot {
        detail::Mutex mutex;  // held during a post
        bool is_closed SG_GUARDED_BY(mutex) = false;
        std::vector<Work> late SG_GUARDED_BY(mutex);
    };
    Slot& slotOf(const void* place) noexcept {
        return slots_[reinterpret_cast<std::uintptr_t>(place) / 64 % slots_.size()];
    }

private:
    void shutdown() noexcept override {
        for (Slot& slot : slots_) {
            const detail::LockGuard lock(slot.mutex);
            slot.is_closed = true;
        }
    }

    std::array<Slot, 32> slots_;
};

/// Work as a handler of Asio: it is dropped if the handler is destroyed without having been called.
class AsioWork {
public:
    /// `posting` is the lock that is held while it is posted, or null if it is not being posted. Afterwards the
    /// execution context is not used, because it may be destroyed once the work was called.
    explicit AsioWork(const Work& work, detail::Mutex* posting = nullptr) noexcept : work_(work), posting_(posting) {}
    AsioWork(AsioWork&& other) noexcept : work_(std::exchange(other.work_, Work())), posting_(other.posting_) {}
    AsioWork& operator=(AsioWork&&) = delete;
    ~AsioWork() {
        if (work_.drop != nullptr && !is_arming) work_.drop(work_.context);
    }
    void operator()() {
        const Work work = std::exchange(work_, Work());
        if (posting_ != nullptr) const detail::LockGuard posted(*posting_);
        work.run(work.context);
    }
    void operator()(const boost::system::error_code& stopped) {
        if (!stopped) (*this)();
    }

    /// While `arm` runs on this thread, nothing is dropped: if it throws, the caller still has the work.
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
    detail::Mutex* posting_;
};

/// An executor of Asio as a place where coroutines resume. It must exist, and must not be moved, as long as they exist.
class AsioPlace {
public:
    explicit AsioPlace(boost::asio::any_io_executor executor)
        : executor_(std::move(executor)), slot_(AsioGate::of(executor_).slotOf(this)) {}
    AsioPlace(const AsioPlace&) = delete;
    AsioPlace& operator=(const AsioPlace&) = delete;

    Home home() noexcept { return {this, &ops}; }
    const boost::asio::any_io_executor& executor() const noexcept { return executor_; }
    /// Null if that home does not belong to Asio.
    static const boost::asio::any_io_executor* executorOf(Home home) noexcept {
        while (home.ops != nullptr && home.ops->under != nullptr) home = home.ops->under(home.place);
        return home.ops == &ops ? &static_cast<AsioPlace*>(home.place)->executor_ : nullptr;
    }

private:
    using Timer = boost::asio::steady_timer;

    static void post(void* place, const Work& work) {
        const auto& self = *static_cast<AsioPlace*>(place);
        const detail::LockGuard posting(self.slot_.mutex);
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
    static bool isGone(void* place) {
        const auto& self = *static_cast<AsioPlace*>(place);
        const detail::LockGuard posting(self.slot_.mutex);
        return self.slot_.is_closed;
    }
    static void stopTimer(void* timer) { static_cast<Timer*>(timer)->cancel(); }
    static void endTimer(void* timer) { delete static_cast<Timer*>(timer); }

    static constexpr HomeOps ops{
        .post = post, .startTimer = startTimer, .stopTimer = stopTimer, .endTimer = endTimer, .isGone = isGone};

    const boost::asio::any_io_executor executor_;
    AsioGate::Slot& slot_;
};

/// The options with which a coroutine of Asio is awaited.
struct AsioCallOptions {
    std::stop_token stop = {};             // it is cancelled when this token is stopped
    std::shared_ptr<void> node = {};       // keeps the node that awaits it (keepNode)
    boost::asio::any_io_executor on = {};  // none: the executor of the awaiting coroutine, or the system executor
};

/// Awaits a coroutine of Asio in a coroutine of this library.
template <class T>
class AsioCall {
public:
    AsioCall(boost::asio::awaitable<T>&& called, AsioCallOptions&& options)
        : called_(std::move(called)),
          stop_(std::move(options.stop)),
          node_(std::move(options.node)),
          on_(std::move(options.on)) {}
    AsioCall(const AsioCall&) = delete;
    AsioCall& operator=(const AsioCall&) = delete;
    ~AsioCall() {
        if (!state_) return;
        const detail::LockGuard lock(state_->mutex);
        state_->call = nullptr;
    }

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    // Before co_spawn no other thread has the state, so it is used without its lock.
    void await_suspend(std::coroutine_handle<Promise> coroutine) SG_NO_THREAD_SAFETY_ANALYSIS {
        home_ = homeOf(coroutine);
        coroutine_ = coroutine;
        wakeup_.prepare(home_, coroutine);
        state_ = std::make_shared<State>(this, std::move(node_));
        const boost::asio::any_io_executor executor = placed();
        if (!stop_.stop_possible()) {
            boost::asio::co_spawn(executor, std::move(called_), End{state_});
            return;
        }
        // A signal must not be emitted while the coroutine runs on another thread.
        state_->strand = boost::asio::make_strand(executor);
        state_->slot = &AsioGate::of(executor).slotOf(state_.get());
        state_->cancel = std::make_shared<boost::asio::cancellation_signal>();
        const boost::asio::any_io_executor strand = state_->strand;
        const detail::LockGuard suspending(mutex_);
        boost::asio::co_spawn(strand, std::move(called_),
                              boost::asio::bind_cancellation_slot(state_->cancel->slot(), End{state_}));
        stops_.emplace(std::move(stop_), Cancel{state_});
        is_suspended_ = true;
    }
    T await_resume() {
        // A thread that resumes this coroutine may be faster than await_suspend.
        { const detail::LockGuard lock(mutex_); }
        if (error_) std::rethrow_exception(error_);
        return std::move(*value_);
    }

private:
    /// The parts of the call that belong to Asio are destroyed with the coroutine, on Asio's threads, because this
    /// object may outlive the execution context.
    struct State {
        detail::Mutex mutex;
        AsioCall* call SG_GUARDED_BY(mutex);  // null after it was destroyed
        // Kept while the coroutine may use what belongs to the node.
        std::shared_ptr<void> node SG_GUARDED_BY(mutex);
        // None if nothing can be cancelled any longer.
        boost::asio::any_io_executor strand SG_GUARDED_BY(mutex);
        AsioGate::Slot* slot = nullptr;  // belongs to the strand's context, and is not used after it
        std::shared_ptr<boost::asio::cancellation_signal> cancel SG_GUARDED_BY(mutex);

        State(AsioCall* by, std::shared_ptr<void>&& of) noexcept : call(by), node(std::move(of)) {}

        void end() {
            std::shared_ptr<void> kept;  // destroyed without the lock
            const detail::LockGuard lock(mutex);
            kept.swap(node);
            strand = boost::asio::any_io_executor();
            cancel.reset();
        }
    };
    struct Cancel {
        std::shared_ptr<State> state;
        void operator()() const noexcept {
            const detail::LockGuard lock(state->mutex);
            if (!state->strand) return;
            const detail::LockGuard posting(state->slot->mutex);
            if (state->slot->is_closed) return;
            try {
                boost::asio::post(state->strand,
                                  [signal = state->cancel] { signal->emit(boost::asio::cancellation_type::terminal); });
            } catch (...) {
                // No memory is left to cancel it, so it ends when it has finished.
            }
        }
    };
    /// The handler of the coroutine's end. If the execution context is destroyed, the handler is destroyed without
    /// being called.
    struct End {
        std::shared_ptr<State> state;
        explicit End(std::shared_ptr<State> of) noexcept : state(std::move(of)) {}
        End(End&&) noexcept = default;
        End& operator=(End&&) = delete;
        ~End() {
            if (!state) return;
            state->end();
            const detail::LockGuard lock(state->mutex);
            if (state->call != nullptr) state->call->lose();
        }
        void operator()(std::exception_ptr error, T value) {
            const std::shared_ptr<State> told = std::move(state);
            told->end();
            std::coroutine_handle<> left;
            {
                const detail::LockGuard lock(told->mutex);
                if (told->call != nullptr) left = told->call->end(std::move(error), std::move(value));
            }
            if (left) left.resume();
        }
    };
    boost::asio::any_io_executor placed() {
        if (on_) return on_;
        const boost::asio::any_io_executor* const own = AsioPlace::executorOf(home_);
        is_on_asio_ = own != nullptr;
        return is_on_asio_ ? *own : boost::asio::any_io_executor(boost::asio::system_executor());
    }
    // Resumes the awaiting coroutine here and not on another thread: it belongs to an abandoned node, which nothing
    // else uses any more.
    std::coroutine_handle<> end(std::exception_ptr error, T value) {
        error_ = std::move(error);
        if (!error_) value_.emplace(std::move(value));
        if (is_suspended_.load() && is_on_asio_ && AsioPlace::executorOf(home_) == nullptr) return coroutine_;
        wakeup_.wake();
        return nullptr;
    }
    // Called when the execution context is destroyed. The run and this object are destroyed with it, except if the run
    // had ended and abandoned this call.
    void lose() noexcept {
        if (!is_on_asio_ || AsioPlace::executorOf(home_) != nullptr) return;
        error_ = std::make_exception_ptr(boost::system::system_error(boost::asio::error::operation_aborted));
        wakeup_.wake();
    }

    boost::asio::awaitable<T> called_;
    std::stop_token stop_;
    std::shared_ptr<void> node_;
    boost::asio::any_io_executor on_;
    Home home_;
    std::coroutine_handle<> coroutine_;
    bool is_on_asio_ = false;
    std::atomic<bool> is_suspended_ = false;  // for a call that can be cancelled: await_suspend is over
    std::shared_ptr<State> state_;
    std::optional<T> value_;
    std::exception_ptr error_;
    detail::Mutex mutex_;
    Wakeup wakeup_;
    std::optional<std::stop_callback<Cancel>> stops_;
};

/// A value for handlers, which require one.
struct AsioNothing {};
inline boost::asio::awaitable<AsioNothing> withNothing(boost::asio::awaitable<void> called) {
    co_await std::move(called);
    co_return AsioNothing();
}

template <class T>
Task<T> awaitAsio(boost::asio::awaitable<T> called, AsioCallOptions options) {
    if constexpr (std::is_void_v<T>) {
        AsioCall<AsioNothing> call(withNothing(std::move(called)), std::move(options));
        co_await call;
    } else {
        AsioCall<T> call(std::move(called), std::move(options));
        T value = co_await call;
        co_return value;
    }
}
inline AsioCallOptions asioOptionsOf(Runtime& runtime, boost::asio::any_io_executor on = {}) {
    return {.stop = stopToken(runtime), .node = keepNode(runtime), .on = std::move(on)};
}

/// Nodes that are coroutines of Asio. In a run on an executor of Asio they run there, in other runs on Asio's system
/// executor.
template <class R>
struct AsyncNode<boost::asio::awaitable<R>> : AsyncNode<Task<R>> {
    static Task<R> task(boost::asio::awaitable<R>&& given, Runtime& runtime) {
        return awaitAsio<R>(std::move(given), asioOptionsOf(runtime));
    }
};

}  // namespace stategraph::detail
