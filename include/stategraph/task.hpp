#pragma once
/// `Task<T>`: the coroutine type of nodes, runs and users' own code. It does not depend on graphs; stategraph/async.hpp
/// has the rest.
#include <atomic>
#include <coroutine>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/opt_in.hpp>

namespace stategraph {

namespace detail {

/// A function that is called once, later, on some thread. If it will never be called, `drop` is called instead.
struct Work {
    void (*run)(void* context) = nullptr;
    void (*drop)(void* context) = nullptr;
    void* context = nullptr;
};

struct Home;

/// How to call a function where coroutines resume: on an executor, on a waiting thread, or in an event loop.
struct HomeOps {
    /// Never calls the work before it returns. If it throws, it neither calls nor drops the work.
    void (*post)(void* place, const Work& work);
    /// Calls the work at a time of the steady clock. `timer` is set before anything can be called. Null: the library's
    /// timers are used.
    void (*startTimer)(void* place, std::chrono::steady_clock::time_point at, const Work& work, void*& timer) = nullptr;
    /// Called on a thread while the place calls nothing on it: the work will not be called any longer; it is dropped,
    /// now or later.
    void (*stopTimer)(void* timer) = nullptr;
    /// Called after the work was called or dropped.
    void (*endTimer)(void* timer) = nullptr;
    /// For a place that is a proxy: the place that it currently represents. Null: the place is not a proxy.
    Home (*under)(void* place) = nullptr;
    /// Whether the place is being destroyed and no longer calls anything. Null: it is never destroyed.
    bool (*isGone)(void* place) = nullptr;
    /// Whether functions that are called there may block, because its thread only waits for the coroutines that resume
    /// there.
    bool may_block = false;
};

/// Where a coroutine resumes after waiting. A coroutine inherits it from the one that awaits it; none: not set.
struct Home {
    void* place = nullptr;
    const HomeOps* ops = nullptr;
};

[[noreturn]] void refuseTask(bool is_empty);

class TaskPromiseBase {
public:
    using Finished = void (*)(void* waiter);

    // The waiting coroutine is resumed from here by an ordinary call; `startFor` prevents nesting in loops over tasks
    // that end at once. A returned handle that is resumed instead would be in the frame with some compilers, and the
    // frame may already be destroyed then.
    struct AtEnd {
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
            TaskPromiseBase& promise = self.promise();
            const Finished finished = promise.finished_;
            void* const waiter = promise.waiter_;
            if (finished != nullptr) {
                finished(waiter);
                return;
            }
            const auto continuation = std::coroutine_handle<>::from_address(waiter);
            if (promise.met_.exchange(true, std::memory_order_acq_rel)) continuation.resume();
        }
        void await_resume() const noexcept {}
    };

    std::suspend_always initial_suspend() const noexcept { return {}; }
    AtEnd final_suspend() const noexcept { return {}; }
    void unhandled_exception() noexcept { error_ = std::current_exception(); }

    Home home() const noexcept { return home_; }
    void setHome(Home home) noexcept { home_ = home; }

    /// Runs it until it waits for something. Returns true if it has already ended; then its caller continues
    /// immediately instead of being resumed.
    bool startFor(std::coroutine_handle<> self, std::coroutine_handle<> waiter, Home home) {
        begin(nullptr, waiter.address(), home);
        self.resume();
        return met_.exchange(true, std::memory_order_acq_rel);
    }
    /// Does the same; when the task ends, perhaps before this returns, `finished(waiter)` is called, which may destroy
    /// it.
    void startWith(std::coroutine_handle<> self, Finished finished, void* waiter, Home home) {
        begin(finished, waiter, home);
        self.resume();
    }

protected:
    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

private:
    void begin(Finished finished, void* waiter, Home home) {
        if (started_) refuseTask(false);
        started_ = true;
        finished_ = finished;
        waiter_ = waiter;
        if (home_.ops == nullptr) home_ = home;
    }

    std::exception_ptr error_;
    Home home_;
    Finished finished_ = nullptr;
    void* waiter_ = nullptr;         // or the address of the waiting coroutine
    std::atomic<bool> met_ = false;  // set by the first of two events: its end, and the suspension of its waiter
    bool started_ = false;
};

/// Compilers allocate a coroutine's frame with an operator new that ignores alignment; the frame of a promise with an
/// over-aligned value is allocated with this one.
template <std::size_t Alignment, bool IsOver = (Alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__)>
struct FrameMemory {};
template <std::size_t Alignment>
struct FrameMemory<Alignment, true> {
    static void* operator new(std::size_t size) { return ::operator new(size, std::align_val_t(Alignment)); }
    static void operator delete(void* frame) noexcept { ::operator delete(frame, std::align_val_t(Alignment)); }
};

/// An object that exists as long as a coroutine, made by `make()`: in the frame, unless the frame is not aligned for
/// it.
template <class T, bool IsOver = (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__)>
class FrameLocal {
public:
    template <class F>
    explicit FrameLocal(F make) : value_(make()) {}
    T& operator*() noexcept { return value_; }
    T* operator->() noexcept { return std::addressof(value_); }

private:
    T value_;
};
template <class T>
class FrameLocal<T, true> {
public:
    template <class F>
    explicit FrameLocal(F make) : value_(::new T(make())) {}
    FrameLocal(const FrameLocal&) = delete;
    FrameLocal& operator=(const FrameLocal&) = delete;
    ~FrameLocal() { ::delete value_; }
    T& operator*() noexcept { return *value_; }
    T* operator->() noexcept { return value_; }

private:
    T* value_;
};

template <class T>
class TaskPromise : public TaskPromiseBase, public FrameMemory<alignof(T)> {
public:
    TaskPromise() noexcept {}
    TaskPromise(const TaskPromise&) = delete;
    TaskPromise& operator=(const TaskPromise&) = delete;
    ~TaskPromise() {
        if (has_value_) value_.~T();
    }
    Task<T> get_return_object() noexcept { return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this)); }
    void return_value(T&& value) {
        ::new (static_cast<void*>(std::addressof(value_))) T(std::move(value));
        has_value_ = true;
    }
    void return_value(const T& value) { return_value(T(value)); }
    T take() { return std::move(value()); }
    /// The value in its place, valid until the coroutine is destroyed.
    T& value() {
        rethrow();
        return value_;
    }

private:
    union {
        T value_;
    };
    bool has_value_ = false;
};

template <>
class TaskPromise<void> : public TaskPromiseBase {
public:
    Task<void> get_return_object() noexcept;
    void return_void() const noexcept {}
    void take() const { rethrow(); }
};

}  // namespace detail

/// A coroutine that returns a T, or throws. It is lazy: it does nothing until it is awaited (`co_await`), waited for
/// (syncWait) or spawned, each of which may be done once. Move-only.
///
/// Destroying one that has not been started, or has ended, is always safe. One that waits for something may be
/// destroyed, with all that it awaits, where nothing can resume it at the same time: on the one thread on which it
/// would resume. Cost: one allocation.
template <class T>
class [[nodiscard("a Task does nothing until it is awaited")]] Task<T, void> {
    static_assert(std::is_void_v<T> || std::is_object_v<T>, "stategraph: a Task gives a value, not a reference");

public:
    using promise_type = detail::TaskPromise<T>;

    Task() noexcept = default;
    explicit Task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Task& operator=(Task&& other) noexcept {
        if (this != &other) {
            reset();
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    ~Task() { reset(); }

    /// Whether it holds a coroutine; false after it was moved from.
    explicit operator bool() const noexcept { return handle_ != nullptr; }
    void reset() noexcept {
        if (handle_ != nullptr) std::exchange(handle_, nullptr).destroy();
    }

    /// `co_await f()`, or of a named one `co_await std::move(task)`. It resumes on the executor of the awaiting
    /// coroutine. Errors: what the coroutine throws; InvalidArgumentError if it was awaited before.
    auto operator co_await() && {
        if (handle_ == nullptr) detail::refuseTask(true);
        return Awaiter{handle_};
    }

    std::coroutine_handle<promise_type> handle() const {
        if (handle_ == nullptr) detail::refuseTask(true);
        return handle_;
    }

private:
    struct Awaiter {
        std::coroutine_handle<promise_type> task;

        bool await_ready() const noexcept { return false; }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> waiter) const {
            detail::Home home;
            if constexpr (std::is_base_of_v<detail::TaskPromiseBase, Promise>) home = waiter.promise().home();
            return !task.promise().startFor(task, waiter, home);
        }
        T await_resume() const { return task.promise().take(); }
    };

    std::coroutine_handle<promise_type> handle_;
};

inline Task<void> detail::TaskPromise<void>::get_return_object() noexcept {
    return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

}  // namespace stategraph
