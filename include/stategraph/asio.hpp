#pragma once
/// Runs and nodes on Boost.Asio: nodes that are `boost::asio::awaitable<sg::Update<State>>`, and runs that resume on an
/// executor of Asio, with their timers. This is the only header of the library that includes Boost.Asio, which adds
/// more than a second to the compile time of a file.
///
///     boost::asio::awaitable<void> serve(sg::CompiledGraph<State> app) {
///         const auto executor = co_await boost::asio::this_coro::executor;
///         auto result = co_await sg::asyncInvokeOn(executor, app, {sg::set<&State::x>(1)}, {.thread_id = "1"});
///     }
#include <chrono>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

#include <stategraph/async.hpp>
#include <stategraph/control.hpp>
#include <stategraph/detail/asio.hpp>
#include <stategraph/stream_hub.hpp>

namespace stategraph {

/// Awaits a task in a coroutine of Asio. The task, its sleeps and all that it awaits resume on `executor`. Cancelling
/// the awaiting coroutine does not cancel the task (for runs, `asyncInvokeOn` does); destroying the execution context
/// of both destroys both. Errors: what the task throws.
template <class T>
boost::asio::awaitable<T> awaitOn(boost::asio::any_io_executor executor, Task<T> task) {
    // The handler waits with a timer, so that the execution context finds and destroys it. A thread that cancels the
    // timer holds the timer meanwhile, because the handler may run, and this object be destroyed, before `cancel`
    // returns.
    using Timer = boost::asio::steady_timer;
    std::shared_ptr<Timer> end = std::make_shared<Timer>(executor, Timer::time_point::max());
    detail::AsioPlace place(std::move(executor));
    auto start = [&](auto&& handler) {
        end->async_wait(
            [handler = std::move(handler)](const boost::system::error_code&) mutable { std::move(handler)(); });
        const auto coroutine = task.handle();
        const auto isOver = [](void* timer) {
            const std::shared_ptr<Timer> held = *static_cast<std::shared_ptr<Timer>*>(timer);
            held->cancel();
        };
        coroutine.promise().startWith(coroutine, isOver, &end, place.home());
    };
    co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(start,
                                                                                        boost::asio::use_awaitable);
    if constexpr (std::is_void_v<T>) {
        task.handle().promise().take();
    } else {
        T value = task.handle().promise().take();
        co_return value;
    }
}

/// Awaits a coroutine of Asio in a coroutine of this library: `auto reply = co_await sg::fromAsio(client.get(url),
/// runtime);`. It runs on the Asio executor of the run (asyncInvokeOn, asyncStreamOn, awaitOn); elsewhere on Asio's
/// system executor, or on the executor that is given, whose context must exist until the coroutine has ended. The task
/// resumes on its own executor. Errors: what the coroutine throws; boost::system::system_error (operation_aborted) if
/// its execution context goes first.
///
/// In a node, pass its Runtime: the coroutine is then cancelled (terminal) when the attempt is abandoned, and in runs
/// that can be stopped, what the node owns is kept until the coroutine has ended. Without a Runtime the coroutine may
/// outlive a destroyed task that awaited it, so it must not refer to anything that the task owns.
template <class T>
Task<T> fromAsio(boost::asio::awaitable<T> called, Runtime& runtime) {
    return detail::awaitAsio<T>(std::move(called), detail::asioOptionsOf(runtime));
}
template <class T>
Task<T> fromAsio(boost::asio::awaitable<T> called) {
    return detail::awaitAsio<T>(std::move(called), {});
}
template <class T>
Task<T> fromAsio(boost::asio::any_io_executor executor, boost::asio::awaitable<T> called, Runtime& runtime) {
    return detail::awaitAsio<T>(std::move(called), detail::asioOptionsOf(runtime, std::move(executor)));
}
template <class T>
Task<T> fromAsio(boost::asio::any_io_executor executor, boost::asio::awaitable<T> called) {
    return detail::awaitAsio<T>(std::move(called), {.stop = {}, .node = {}, .on = std::move(executor)});
}

namespace detail {

/// What a cancellation slot of Asio holds while a run is awaited.
struct StopsRun {
    std::shared_ptr<RunControl> control;
    void operator()(boost::asio::cancellation_type type) const {
        using Type = boost::asio::cancellation_type;
        if ((type & (Type::terminal | Type::partial)) != Type::none) control->requestStop();
    }
};

struct WakesReader {
    std::shared_ptr<SubscriptionImpl> subscription;
    void operator()(boost::asio::cancellation_type type) const {
        using Type = boost::asio::cancellation_type;
        if ((type & (Type::terminal | Type::partial)) != Type::none) wakeReader(*subscription);
    }
};

/// A run that cannot be cancelled has no control, and costs no more than without Asio.
template <class Make, class T = typename TaskValue<std::invoke_result_t<Make&, const RunConfig&>>::Type>
boost::asio::awaitable<T> awaitRun(boost::asio::any_io_executor executor, Make make, RunConfig config) {
    const boost::asio::cancellation_state cancellation = co_await boost::asio::this_coro::cancellation_state;
    boost::asio::cancellation_slot slot = cancellation.slot();
    if (slot.is_connected()) {
        auto control = std::make_shared<RunControl>(std::shared_ptr<const RunControl>(config.control));
        config.control = control;
        const StopsRun stops{std::move(control)};
        stops(cancellation.cancelled());
        slot.assign(stops);  // Asio clears it when the operation awaited below has ended
    }
    T value = co_await awaitOn(std::move(executor), make(config));
    co_return value;
}

}  // namespace detail

/// CompiledGraph::asyncInvoke on an Asio executor: coroutine nodes, retries' waits and sg::sleepFor are on it.
/// Arguments are copied before the functions return. Blocking nodes of a superstep with several tasks run on the
/// graph's own executor.
///
/// Cancelling the awaiting coroutine (terminal or partial) stops the run, as its control would: the run ends with
/// Status::cancelled and a result, and the thread keeps its commits. Unless told otherwise
/// (`this_coro::throw_if_cancelled`), Asio then throws operation_aborted at that coroutine's next `co_await`. Only a
/// coroutine with a cancellation slot pays for this: the cost of a RunControl.
template <class S, class Input, class Output>
boost::asio::awaitable<Result<Output>> asyncInvokeOn(boost::asio::any_io_executor executor,
                                                     const CompiledGraph<S, Input, Output>& app,
                                                     std::type_identity_t<Update<Input>> input,
                                                     const RunConfig& config = RunConfig::defaults()) {
    auto make = [app, input = std::move(input)](const RunConfig& with) mutable {
        return app.asyncInvoke(std::move(input), with);
    };
    return detail::awaitRun(std::move(executor), std::move(make), config);
}
template <class S, class Input, class Output>
boost::asio::awaitable<Result<Output>> asyncInvokeOn(boost::asio::any_io_executor executor,
                                                     const CompiledGraph<S, Input, Output>& app, ResumeTag resume,
                                                     const RunConfig& config) {
    return detail::awaitRun(
        std::move(executor), [app, resume](const RunConfig& with) { return app.asyncInvoke(resume, with); }, config);
}
template <class S, class Input, class Output, class C>
boost::asio::awaitable<Result<Output>> asyncInvokeOn(boost::asio::any_io_executor executor,
                                                     const CompiledGraph<S, Input, Output>& app,
                                                     const Command<C>& command, const RunConfig& config) {
    return detail::awaitRun(
        std::move(executor), [app, command](const RunConfig& with) { return app.asyncInvoke(command, with); }, config);
}

namespace detail {

/// The run of an AsioStream. Cancelling the reader stops it through the control.
struct AsioStreamRun {
    AsioStreamRun(boost::asio::any_io_executor executor, std::shared_ptr<const Core> core, RunInput&& input,
                  RunConfig config, const StreamOptions& options)
        : place(std::move(executor)),
          control(std::make_shared<RunControl>(std::shared_ptr<const RunControl>(config.control))),
          run(std::move(core), std::move(input), controlled(std::move(config)), options, place.home()) {}

    AsioPlace place;
    const std::shared_ptr<RunControl> control;
    AsyncStreamRun run;  // last, because its work uses the place

private:
    RunConfig controlled(RunConfig config) const {
        config.control = control;
        return config;
    }
};

}  // namespace detail

namespace detail {

/// The part of an AsioStream that does not depend on the state.
class AsioEvents {
public:
    explicit AsioEvents(std::unique_ptr<AsioStreamRun> run) noexcept : run_(std::move(run)) {}

    /// Returns the next event; none when the run is over. Await it on the stream's executor. Errors: what the run fails
    /// with, after the events before it.
    ///
    /// Cancelling the awaiting coroutine (terminal or partial) stops the run, as its control would. It then gives what
    /// is left, and its outcome is Status::cancelled. As with asyncInvokeOn, Asio throws operation_aborted at the
    /// coroutine's next `co_await`, unless told otherwise.
    boost::asio::awaitable<std::optional<StreamEvent>> next() {
        const boost::asio::cancellation_state cancellation = co_await boost::asio::this_coro::cancellation_state;
        boost::asio::cancellation_slot slot = cancellation.slot();
        if (slot.is_connected()) {
            const StopsRun stops{run_->control};
            stops(cancellation.cancelled());
            slot.assign(stops);
        }
        std::optional<StreamEvent> event = co_await awaitOn(run_->place.executor(), run_->run.next());
        co_return event;
    }
    /// Stops the run, from any thread: the remaining events come, and its outcome is Status::cancelled.
    void requestStop() const { run_->control->requestStop(); }

protected:
    AsyncStreamRun& run() const noexcept { return run_->run; }

private:
    std::unique_ptr<AsioStreamRun> run_;
};

}  // namespace detail

/// The events of a run on an executor of Asio, for coroutines of Asio: `while (auto event = co_await stream.next()) …`.
/// `asyncStreamOn` makes it. One `next` at a time. It may be moved and destroyed where none is awaited; destroying it
/// ends the run, and the thread can be resumed immediately: nodes are destroyed where they wait, and those that await a
/// coroutine of Asio are abandoned, and cancelled.
template <class Output, class S>
class AsioStream : public detail::AsioEvents {
public:
    using AsioEvents::AsioEvents;
    /// How the run ended, and the state that it left. Errors: InvalidArgumentError before the last event; it can be
    /// read once.
    Result<Output> outcome() { return detail::streamResult<Output, S>(run()); }
};

/// CompiledGraph::asyncStream on an Asio executor: coroutine nodes, what they await, and events are on it,
/// whatever modes are requested. On a single-threaded io_context or a strand, nodes can therefore share data without a
/// lock. Blocking nodes run on threads of the graph's executor. Arguments are copied before the function returns.
/// `input` is an Update, RESUME or a Command. The executor's context must outlive the stream.
///
///     auto events = sg::asyncStreamOn(executor, app, {sg::set<&State::x>(1)}, {.thread_id = "1"}, {.modes = sg::StreamMode::messages});
///     while (auto event = co_await events.next()) …
///
/// Errors: as `asyncInvoke`, from `next`; InvalidArgumentError for a configuration that is refused. Cost in addition to
/// asyncStream: a RunControl.
template <class S, class Input, class Output>
AsioStream<Output, S> asyncStreamOn(boost::asio::any_io_executor executor, const CompiledGraph<S, Input, Output>& app,
                                    std::type_identity_t<Update<Input>> input, const RunConfig& config,
                                    const StreamOptions& options = {}) {
    return AsioStream<Output, S>(std::make_unique<detail::AsioStreamRun>(
        std::move(executor), app.core(), detail::inputOf<S>(std::move(input)), config, options));
}
template <class S, class Input, class Output>
AsioStream<Output, S> asyncStreamOn(boost::asio::any_io_executor executor, const CompiledGraph<S, Input, Output>& app,
                                    ResumeTag resume, const RunConfig& config, const StreamOptions& options = {}) {
    return AsioStream<Output, S>(std::make_unique<detail::AsioStreamRun>(
        std::move(executor), app.core(), detail::toRunInput<S, Input>(resume), config, options));
}
template <class S, class Input, class Output, class C>
AsioStream<Output, S> asyncStreamOn(boost::asio::any_io_executor executor, const CompiledGraph<S, Input, Output>& app,
                                    const Command<C>& command, const RunConfig& config,
                                    const StreamOptions& options = {}) {
    return AsioStream<Output, S>(std::make_unique<detail::AsioStreamRun>(
        std::move(executor), app.core(), detail::commandOf<S>(Command<C>(command)), config, options));
}

/// The next event of a subscriber, in a coroutine of Asio: `auto event = co_await sg::asyncNextOn(executor,
/// subscription);`. None: the subscription has ended, or the awaiting coroutine was cancelled (terminal or partial); in
/// the latter case the subscription stays. Errors: as Subscription::next.
inline boost::asio::awaitable<std::optional<HubEvent>> asyncNextOn(boost::asio::any_io_executor executor,
                                                                   Subscription& subscription) {
    const boost::asio::cancellation_state cancellation = co_await boost::asio::this_coro::cancellation_state;
    boost::asio::cancellation_slot slot = cancellation.slot();
    if (slot.is_connected() && subscription.impl() != nullptr) {
        const detail::WakesReader wakes{subscription.impl()};
        wakes(cancellation.cancelled());
        slot.assign(wakes);
    }
    std::optional<HubEvent> event = co_await awaitOn(std::move(executor), subscription.asyncNext());
    co_return event;
}

}  // namespace stategraph
