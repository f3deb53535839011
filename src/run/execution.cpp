#include "src/run/execution.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include <stategraph/detail/parting.hpp>
#include <stategraph/error.hpp>

#include "src/commit/task_record.hpp"
#include "src/run/subgraph_visit.hpp"
#include "src/task/cached_task.hpp"
#include "src/task/task_input.hpp"

namespace stategraph::engine {
namespace {

using detail::InterruptSignal;
using detail::RefusedAnswerSignal;
using detail::SleepSignal;
using detail::StopSignal;
}  // namespace

void Execution::operator()() noexcept {
    try {
        for (int number = 1; !once(number); ++number) waitAfter(number);
    } catch (...) {  // it cannot wait, because there is no memory
        couldNotRun(std::current_exception());
    }
}

bool Execution::once(int number) noexcept {
    if (!mayBegin(number)) return true;
    TaskWatch watch(env_.observation, env_.place, env_.stop.get(), task_, number);
    return settle(number, watch, [&] {
        if (task_.record.failure) {
            callHandler();
        } else {
            attempt(number);
        }
    });
}

void Execution::waitAfter(int number) const {
    const std::chrono::nanoseconds duration = waitTime(number);
    RunStop* stop = env_.stop.get();
    if (stop != nullptr) {
        stop->waitFor(duration);
    } else {
        std::this_thread::sleep_for(duration);
    }
}

// Limits the wait to a century, because a clock cannot hold much longer times.
std::chrono::nanoseconds Execution::waitTime(int number) const {
    const auto wait = retryWait(task_.retried_by == nullptr ? node_.retry : *task_.retried_by, number);
    if (env_.observation) env_.observeRetry(task_, number, wait);
    return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(wait.count() * 1e6, 3.15e18)));
}

bool Execution::isWorthAnother(const std::exception_ptr& error, int attempt) const noexcept {
    if (task_.record.failure) return false;  // an error handler is tried once
    if (env_.shared.refusal.isNoted()) return false;
    std::exception_ptr original;
    try {
        std::rethrow_exception(error);
    } catch (const NodeError& node_error) {
        original = node_error.original();
    } catch (...) {
        return false;  // not the node's failure: a write that no channel accepts, or a saver that failed
    }
    try {
        task_.retried_by = policyAfter(node_.retry, original, attempt);
        return task_.retried_by != nullptr;
    } catch (...) {
        return false;  // a predicate that fails counts as false
    }
}

void Execution::attempt(int number) {
    RunTaskContext context = beginAttempt(number);
    CachedTask cached(env_, task_, context);
    if (!cached.restore()) call(context);
    endAttempt(context, cached);
}

// Ends the attempt if a refusal was noted: a node that met one may have caught it. A task that has ended beside the one
// that was refused has happened, so its result is kept if nobody has stored anything in its place.
void Execution::endRefused(RunTaskContext& context) {
    const bool has_result = !asked_ && !task_.result.to_parent && !isAlone() && env_.hasSaver();
    if (has_result && !env_.shared.refusal.hasMet(env_.idOf(task_))) {
        try {
            takeResult();
            Runtime runtime(context);
            if (!node_.branches.empty()) route(runtime);
            env_.storeRecord(task_, true);
        } catch (...) {  // another writer was first here, too, or the result is none; the run is refused either way
        }
    }
    asked_.reset();
    Refusal::refuse();
}

void Execution::call(RunTaskContext& context) {
    if (task_.planned.node == env_.topology().start) {
        // The input is copied, because the superstep may have to be repeated.
        task_.result.writes = env_.schedule.input;
        return;
    }
    if (node_.subgraph) {
        callSubgraph(context.attempt);
        return;
    }
    Runtime runtime(context);
    asNode([&] { callNode(runtime, context); });
}

void Execution::callNode(Runtime& runtime, RunTaskContext& context) {
    const detail::NodeAction& action = node_.action;
    if (env_.callsApart(node_)) {
        callApart(action, context, TaskInput::shared(env_, task_), node_.limits);
    } else if (!task_.planned.is_send && !node_.projects) {
        action.call(action.callable.get(), env_.state.values.object(), runtime, task_.result);
    } else {
        const TaskInput input(env_, task_, false);
        action.call(action.callable.get(), input.get(), runtime, task_.result);
    }
}

void Execution::callApart(const detail::NodeAction& action, RunTaskContext& context, std::shared_ptr<const void> input,
                          const AttemptLimits& limits) {
    const auto attempt =
        std::make_shared<Attempt>(env_.core().shared_from_this(), action, std::move(input), context, env_.stop, limits);
    takeAttempt(*attempt, attempt->run(), context, limits);
}

void Execution::takeAttempt(Attempt& attempt, Attempt::End end, RunTaskContext& context, const AttemptLimits& limits) {
    if (end != Attempt::End::returned) env_.state.leave();
    switch (end) {
        case Attempt::End::returned:
            context.calls = attempt.calls();
            task_.result = attempt.takeResult();
            return;
        case Attempt::End::stopped:
            if (takeParting(context.attempt)) return;
            throw StopSignal{};
        case Attempt::End::timed_out:
            throw NodeTimeoutError(NodeTimeoutError::Kind::run, *limits.timeout,
                                   {.node = node_.name, .step = env_.place.step});
        case Attempt::End::idle:
            throw NodeTimeoutError(NodeTimeoutError::Kind::idle, *limits.idle_timeout,
                                   {.node = node_.name, .step = env_.place.step});
    }
}

// Returns whether the abandoned attempt has left a result.
bool Execution::takeParting(int number) {
    if (task_.extra().parting == nullptr || task_.extra().parting_of != number) return false;
    auto result = task_.extra().parting->take();
    if (!result) return false;
    task_.result = std::move(*result);
    return true;
}

void Execution::callSubgraph(int number) {
    const SubgraphVisit visit(env_, task_);
    detail::RunInput input = visit.input();
    const ParentLink link = visit.link(number);
    Run child(*node_.subgraph->spec.core, env_.shared, &link);
    endInside(child, [&]() -> auto& { return child.drive(std::move(input)); });
}

// Takes what a task inside wrote for this graph.
void Execution::takeParentCommand(ParentCommandSignal& signal) {
    adoptCommand(signal, env_.core().schema(), node_);
    task_.result.writes = std::move(signal.result.writes);
    task_.result.go_to = std::move(signal.result.go_to);
    task_.result.to_parent = false;
    task_.result.written = nullptr;
}

void Execution::takeResult() {
    const detail::Schema& schema = env_.core().schema();
    try {
        if (task_.result.written != nullptr) {
            throw InvalidUpdateError(
                "node '" + node_.name +
                "' returned a Command whose update is of another state than its graph's, and not for the "
                "parent graph: give it graph = PARENT, or an update of the graph's own state");
        }
        schema.check(task_.result.writes);
        if (env_.core().preparesWrites()) prepareWrites(schema, task_.result.writes, env_.idOf(task_));
        for (const Target& target : task_.result.go_to)
            resolveTarget(env_.topology(), target, node_.name, task_.routes);
    } catch (Error& error) {
        error.addContext({.node = node_.name, .step = env_.place.step});
        throw;
    }
}

void Execution::route(Runtime& runtime) {
    try {
        if (isAlone()) {
            routeAlone(runtime);
        } else {
            routeBeside(runtime);
        }
    } catch (Error& error) {
        error.addContext({.node = node_.name, .step = env_.place.step});
        throw;
    } catch (const InterruptSignal&) {
        throw;
    } catch (const InnerPause&) {
        throw;
    } catch (const SleepSignal&) {
        throw;
    } catch (const RefusedAnswerSignal&) {
        throw;
    } catch (...) {
        throw env_.nodeError(task_, "a router of node '" + node_.name + "' failed: ");
    }
}

// For the only task of its superstep: its writes go into the state itself, where the routers see them. They are removed
// again if a router fails.
void Execution::routeAlone(Runtime& runtime) {
    WriteSet& writes = env_.superstep->memory().writes;
    try {
        writes.assign(env_.core().schema(), task_.result.writes, node_.name);
    } catch (const InvalidUpdateError&) {
        return;  // the end of the superstep will report it
    }
    if (!env_.isQuiet()) env_.prepareSingle(task_);
    env_.superstep->memory().present_before = env_.state.values.present();
    env_.applyTasksWrites();
    try {
        routeBranches(node_, env_.topology(), env_.state.values.object(), runtime, task_.routes);
    } catch (...) {
        env_.takeBackWrites();
        throw;
    }
}

// For one of several tasks: the routers see a copy of the state.
void Execution::routeBeside(Runtime& runtime) {
    State seen(env_.state.values);
    detail::Writes copy(task_.result.writes);
    WriteSet writes;
    writes.add(env_.core().schema(), copy, node_.name);
    try {
        writes.close(env_.core().schema());
    } catch (const InvalidUpdateError&) {
        return;
    }
    applyWrites(seen, writes, {}, nullptr);
    routeBranches(node_, env_.topology(), seen.object(), runtime, task_.routes);
}

void Execution::finish() {
    if (!env_.isQuiet()) env_.taskFinished(task_);
    task_.progress.end(TaskStatus::finished);
}

// Tasks of the same node in one superstep differ in their Sends, so the error names the Send. An error of a task inside
// already has that task's Send.
void Execution::nameSend(const std::exception_ptr& error) const noexcept {
    if (!task_.planned.is_send) return;
    try {
        std::string payload;
        Encoder out(payload);
        encodeSend(*env_.sendOf(task_), out);
        try {
            std::rethrow_exception(error);
        } catch (NodeError& node_error) {
            if (node_error.taskId() == env_.idOf(task_).toString())
                node_error.setSend(task_.planned.send, Value::fromCbor(std::move(payload)));
        } catch (Error& own) {
            if (own.context().node == node_.name && own.context().step == env_.place.step)
                own.addContext({.send = task_.planned.send});
        }
    } catch (...) {
        // The failure itself matters more than its name.
    }
}

void Execution::failed(std::exception_ptr error) noexcept {
    env_.superstep->noteFailure();
    nameSend(error);
    task_.progress.end(TaskStatus::failed);
    task_.useExtra().failure = std::move(error);
    task_.result.writes.clear();
    task_.routes.clear();
    // A task that was refused has not failed: another run executes it, or has done so.
    env_.shared.refusal.noteTask(task_.extra().failure);
    if (!env_.shared.refusal.isNoted()) noteError();
    env_.taskStopped(task_);
}

void Execution::noteError() noexcept {
    try {
        try {
            std::rethrow_exception(task_.extra().failure);
        } catch (const NodeError& node_error) {
            task_.record.error = node_error.reason();
        } catch (const Error& own) {
            task_.record.error = own.message();
        } catch (...) {
            task_.record.error = detail::describe(task_.extra().failure);
        }
    } catch (...) {
        task_.record.error = "out of memory";  // this text is short enough to need no memory
    }
}

void Execution::couldNotRun(const std::exception_ptr& why) noexcept {
    if (task_.progress.hasEnded()) return;
    if (env_.stopStatus()) return stopped();
    try {
        std::rethrow_exception(why);
    } catch (const std::system_error&) {  // there was no thread
        try {
            failed(std::make_exception_ptr(env_.nodeError(
                task_,
                "node '" + node_.name + "' could not be run; RESUME runs it when threads can be started again: ")));
        } catch (...) {
            failed(why);
        }
    } catch (...) {
        failed(why);
    }
}

// Nothing of the task is kept, as if it had not begun.
void Execution::stopped() noexcept {
    env_.noteCut();
    task_.progress.end(TaskStatus::stopped);
    task_.result.writes.clear();
    task_.routes.clear();
    if (isAlone()) env_.superstep->drafts().clear();
}

void Execution::interrupted(std::vector<Interrupt> asked) {
    env_.shared.refusal.check();
    task_.progress.end(TaskStatus::interrupted);
    task_.useExtra().asked = std::move(asked);
    task_.result.writes.clear();
    task_.routes.clear();
    if (!task_.extra().asked.empty()) task_.record.interrupts = task_.extra().asked;
    env_.taskStopped(task_);
}

}  // namespace stategraph::engine
