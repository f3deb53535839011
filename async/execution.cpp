#include "src/run/execution.hpp"

#include <stategraph/detail/async.hpp>

#include "async/awaited_attempt.hpp"
#include "async/drive.hpp"
#include "src/task/task_input.hpp"

// An attempt of a task that is awaited: what Execution::once does, but for the node's or the inner run's own part in
// the middle.
namespace stategraph::engine {

using detail::TaskContext;

stategraph::Task<bool> Execution::onceAsync(int number) {
    if (node_.subgraph) return onceInside(number);
    return onceCalled(number);
}

stategraph::Task<bool> Execution::onceCalled(int number) {
    if (!mayBegin(number)) co_return true;
    TaskWatch watch(env_.observation, env_.place, env_.stop.get(), task_, number);
    if (task_.record.failure) {
        const auto handler = [&] { callHandler(); };
        co_return settle(number, watch, handler);
    }
    TaskContext context = beginAttempt(number);
    Runtime runtime(context);
    std::optional<CachedTask> cached;
    std::optional<TaskInput> input;
    std::shared_ptr<AwaitedAttempt> apart;
    Attempt::End end = Attempt::End::returned;
    std::exception_ptr before;
    std::exception_ptr error;
    bool is_known = false;
    try {
        cached.emplace(env_, task_, context);
        is_known = cached->restore();
        if (!is_known && env_.callsApart(node_)) {
            apart = std::make_shared<AwaitedAttempt>(env_.core().shared_from_this(), node_.action,
                                                     TaskInput::shared(env_, task_), context, env_.stop, node_.limits);
        } else if (!is_known) {
            input.emplace(env_, task_, false);
        }
    } catch (...) {
        before = std::current_exception();
    }
    if (!before && !is_known) {
        try {
            if (apart) {
                end = co_await AwaitedAttempt::await(apart);
            } else {
                stategraph::Task<void> node =
                    node_.action.start(node_.action.callable.get(), input->get(), runtime, task_.result);
                co_await std::move(node);
            }
        } catch (...) {
            error = std::current_exception();
            if (apart) env_.state.leave();
        }
    }
    const auto rest = [&] {
        if (before) std::rethrow_exception(before);
        asNode([&] {
            if (error) std::rethrow_exception(error);
            if (apart) takeAttempt(*apart, end, context, node_.limits);
        });
        endAttempt(context, *cached);
    };
    co_return settle(number, watch, rest);
}

stategraph::Task<bool> Execution::onceInside(int number) {
    if (!mayBegin(number)) co_return true;
    TaskWatch watch(env_.observation, env_.place, env_.stop.get(), task_, number);
    if (task_.record.failure) {
        const auto handler = [&] { callHandler(); };
        co_return settle(number, watch, handler);
    }
    TaskContext context = beginAttempt(number);
    std::optional<ParentLink> link;
    std::optional<CachedTask> cached;
    std::optional<Run> child;
    detail::RunInput input;
    detail::RunOutcome outcome;
    std::exception_ptr before;
    std::exception_ptr inside;
    bool is_known = false;
    try {
        cached.emplace(env_, task_, context);
        is_known = cached->restore();
        if (!is_known) {
            input = inputInside();
            link.emplace(linkInside(number));
            child.emplace(*node_.subgraph->spec.core, env_.shared, &*link);
        }
    } catch (...) {
        before = std::current_exception();
    }
    if (child) {
        try {
            outcome = co_await driveAsync(*child, std::move(input));
        } catch (...) {
            inside = std::current_exception();
        }
    }
    const auto rest = [&] {
        if (before) std::rethrow_exception(before);
        if (child) {
            endInside(*child, [&]() -> auto& {
                if (inside) std::rethrow_exception(inside);
                return outcome;
            });
        }
        endAttempt(context, *cached);
    };
    co_return settle(number, watch, rest);
}

}  // namespace stategraph::engine
