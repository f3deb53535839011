#include <algorithm>
#include <exception>

#include <stategraph/detail/call_failure.hpp>
#include <stategraph/error.hpp>

#include "src/run/execution.hpp"
#include "src/task/task_input.hpp"

// Handles a node's failure: calls its error handler within the same task, and decides what becomes of the superstep's
// other tasks.
namespace stategraph::detail {

const NodeFailure& failureOf(Runtime& runtime) noexcept { return *runtime.taskContext().failure; }

}  // namespace stategraph::detail

namespace stategraph::engine {
namespace {

// The handler's questions are counted from here, which distinguishes them from those that the node asked before it
// failed.
constexpr std::uint64_t first_question = std::uint64_t{1} << 32U;

std::string textOf(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const NodeError& node_error) {
        return node_error.reason();
    } catch (const Error& own) {
        return own.message();
    } catch (...) {
        return detail::describe(error);
    }
}

}  // namespace

// Returns true for failures of the node itself, of its routers, and of what is inside a subgraph. Returns false for
// what the library refuses, and for failures of the thread's saver, also if a node reports what `once` threw.
bool Execution::isHandled(const std::exception_ptr& error) const noexcept {
    if (!node_.on_error || task_.record.failure) return false;
    try {
        std::rethrow_exception(error);
    } catch (const NodeError& node_error) {
        return !env_.shared.refusal.isUncertain() || !detail::isOfTheThread(node_error.original());
    } catch (const GraphRecursionError&) {
        return node_.subgraph.has_value();
    } catch (...) {
        return false;
    }
}

// The call of the handler belongs to the attempt that failed, so observers see one end for both.
bool Execution::handle(const std::exception_ptr& error, int attempts, TaskWatch& watch) noexcept {
    if (!isHandled(error)) return false;
    try {
        task_.result.writes.clear();
        task_.routes.clear();
        env_.superstep->drafts().clear();
        NodeFailure failure{.node = node_.name, .error = textOf(error), .attempts = attempts};
        if (env_.teller.any()) {
            task_.record.error = failure.error;
            env_.teller.emitTaskEnd(env_.teller.taskEnds(task_, TaskStatus::failed));
        }
        task_.record.error.reset();  // from here on it would be an error of the handler
        task_.record.failure = std::move(failure);
        if (env_.hasSaver()) env_.storeRecord(task_, false);
    } catch (...) {
        failed(std::current_exception());
        return true;
    }
    if (mayBegin(attempts + 1)) (void)settle(attempts + 1, watch, [this] { callHandler(); });
    return true;
}

void Execution::callHandler() {
    task_.result.writes.clear();
    task_.result.go_to.clear();
    task_.result.to_parent = false;
    task_.result.written = nullptr;
    task_.routes.clear();
    const ErrorHandler& handler = *node_.on_error;
    RunTaskContext context(env_, task_, 1);
    context.calls = first_question;
    context.has_payload = task_.planned.is_send && !handler.takes_state;
    context.failure = &*task_.record.failure;
    std::shared_ptr<const void> shared;
    std::optional<TaskInput> input;
    const bool may_be_stopped = env_.stop != nullptr;
    if (may_be_stopped) {
        shared = TaskInput::shared(env_, task_, handler.takes_state);
    } else {
        input.emplace(env_, task_, handler.takes_state);
    }
    const auto call = [&] {
        if (may_be_stopped) {
            callApart(handler.action, context, std::move(shared), {});  // the node's limits do not apply to its handler
        } else {
            Runtime runtime(context);
            handler.action.call(handler.action.callable.get(), input->get(), runtime, task_.result);
        }
    };
    asNode(call, "the error handler of node '");
    if (asked_) return;
    if (task_.result.to_parent) {
        task_.progress.end(TaskStatus::to_parent);
        return;
    }
    takeResult();
    finish();
}

}  // namespace stategraph::engine
