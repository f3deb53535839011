#include "src/run/execution.hpp"

#include <stategraph/detail/async.hpp>

#include "src/async/drive.hpp"

// An attempt of a task that is awaited: what Execution::once does, but for the node's or the inner run's own part in the middle.
namespace stategraph::engine {

using detail::TaskContext;

stategraph::Task<bool> Execution::onceAsync(int number) {
    if (node_.subgraph) return onceInside(number);
    return onceCalled(number);
}

stategraph::Task<bool> Execution::onceCalled(int number) {
    TaskContext context = beginAttempt(number);
    Runtime runtime(context);
    NodeInput input;
    std::exception_ptr error;
    try {
        stategraph::Task<void> node = node_.action.start(node_.action.callable.get(), takeInput(input), runtime, task_.result);
        co_await std::move(node);
    } catch (...) {
        error = std::current_exception();
    }
    const auto rest = [&] {
        asNode([&] {
            if (error) std::rethrow_exception(error);
        });
        endAttempt(context);
    };
    co_return settle(number, rest);
}

stategraph::Task<bool> Execution::onceInside(int number) {
    TaskContext context = beginAttempt(number);
    const ParentLink link = linkInside(number);
    std::optional<Run> child;
    detail::RunInput input;
    detail::RunOutcome outcome;
    std::exception_ptr before;
    std::exception_ptr inside;
    try {
        input = inputInside();
        child.emplace(*node_.subgraph->spec.core, run_.shared(), &link);
    } catch (...) {
        before = std::current_exception();
    }
    if (!before) {
        try {
            outcome = co_await driveAsync(*child, std::move(input));
        } catch (...) {
            inside = std::current_exception();
        }
    }
    const auto rest = [&] {
        if (before) std::rethrow_exception(before);
        endInside(*child, [&] {
            if (inside) std::rethrow_exception(inside);
            return std::move(outcome);
        });
        endAttempt(context);
    };
    co_return settle(number, rest);
}

}  // namespace stategraph::engine
