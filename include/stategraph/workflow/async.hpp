#pragma once
#include <optional>
#include <string>
#include <utility>

#include <stategraph/async.hpp>
#include <stategraph/workflow/workflow.hpp>

// Runs of workflows that coroutines await. No thread waits for a run: `auto run = co_await workflow::asyncStart(order,
// "run-1", Order{…});`
namespace stategraph::workflow {

/// The methods of Flow, awaited. They read the store where the task is first awaited. Arguments are copied; a Flow's
/// copies share it. If a task is destroyed, its run ends where it is, and can be restarted. With RunOptions::waits the
/// run sleeps without a thread, and a cancel ends its sleep within 100 ms. Errors: those of the method, when the task
/// is awaited.
Task<RunView> asyncStart(const Flow& flow, std::string run_id, Value input, RunOptions options = {});
/// Flow::resume for coroutines.
Task<RunView> asyncResume(const Flow& flow, std::string run_id, ResumeTarget target, Value data,
                          RunOptions options = {});
/// Flow::restart for coroutines.
Task<RunView> asyncRestart(const Flow& flow, std::string run_id, RunOptions options = {});
/// Flow::timeTravel for coroutines.
Task<RunView> asyncTimeTravel(const Flow& flow, std::string run_id, std::string step, std::optional<Value> input,
                              std::optional<Value> data, RunOptions options = {});

namespace detail {
template <class Out>
Task<RunResult<Out>> typed(Task<RunView> run) {
    RunView view = co_await std::move(run);
    RunResult<Out> result(std::move(view));
    co_return result;
}
}  // namespace detail

/// Does the same for typed workflows.
template <class In, class Out>
Task<RunResult<Out>> asyncStart(const Workflow<In, Out>& workflow, std::string run_id,
                                const std::type_identity_t<In>& input, RunOptions options = {}) {
    return detail::typed<Out>(asyncStart(workflow.flow(), std::move(run_id), Value(input), std::move(options)));
}
template <class In, class Out, class SIn, class SOut, class Ask, class Answer>
Task<RunResult<Out>> asyncResume(const Workflow<In, Out>& workflow, std::string run_id,
                                 const TypedStep<SIn, SOut, Ask, Answer>& step,
                                 const std::type_identity_t<Answer>& answer, RunOptions options = {}) {
    ResumeTarget target;
    target.step = step.id();
    return detail::typed<Out>(
        asyncResume(workflow.flow(), std::move(run_id), std::move(target), Value(answer), std::move(options)));
}
template <class In, class Out>
Task<RunResult<Out>> asyncRestart(const Workflow<In, Out>& workflow, std::string run_id, RunOptions options = {}) {
    return detail::typed<Out>(asyncRestart(workflow.flow(), std::move(run_id), std::move(options)));
}
template <class In, class Out, class SIn, class SOut, class Ask, class Answer>
Task<RunResult<Out>> asyncTimeTravel(const Workflow<In, Out>& workflow, std::string run_id,
                                     const TypedStep<SIn, SOut, Ask, Answer>& step,
                                     const std::optional<std::type_identity_t<SIn>>& input = {},
                                     RunOptions options = {}) {
    std::optional<Value> given;
    if (input) given = Value(*input);
    return detail::typed<Out>(
        asyncTimeTravel(workflow.flow(), std::move(run_id), step.id(), std::move(given), {}, std::move(options)));
}

}  // namespace stategraph::workflow
