#pragma once
#include <chrono>
#include <optional>
#include <string_view>

#include <stategraph/detail/call_failure.hpp>
#include <stategraph/error.hpp>

#include "src/run/run.hpp"
#include "src/run/subgraph_visit.hpp"
#include "src/stream/observation.hpp"
#include "src/superstep/routes.hpp"
#include "src/task/attempt.hpp"
#include "src/task/cached_task.hpp"
#include "src/task/run_task_context.hpp"
#include "src/task/task_questions.hpp"
#include "src/value/times.hpp"

namespace stategraph::engine {

/// Runs one task with all its attempts, and stores its record if one is due. Called on the thread that runs the task.
class Execution {
public:
    Execution(TaskEnv& env, Task& task) noexcept : env_(env), task_(task), node_(env.nodeOf(task)) {}
    void operator()() noexcept;
    /// Makes one attempt. Returns false if the task is to be tried again, after a wait.
    bool once(int number) noexcept;
    void waitAfter(int number) const;
    /// Call it if the driver failed and not the task: unless the task has ended, it fails with that error.
    void couldNotRun(const std::exception_ptr& why) noexcept;

    /// Returns whether an awaited run must await an attempt (`onceAsync`), because the node is a coroutine or a graph.
    bool isAsync() const noexcept { return node_.action.start != nullptr || node_.subgraph.has_value(); }
    /// Returns whether it need not be awaited, and never waits between attempts either.
    bool isPlain() const noexcept {
        return !isAsync() && node_.retry.max_attempts == 1 && node_.retry.otherwise.empty();
    }
    /// Returns whether a run that is awaited on detail::RunThreads awaits the attempt too: its node blocks, and may be
    /// abandoned.
    bool mayBeCalledHere() const noexcept {
        return !isAsync() && task_.planned.node != env_.topology().start && env_.callsApart(node_) &&
               !task_.record.failure;
    }
    /// The counterpart of `once` for those, and the awaited form of the wait that `waitAfter` sleeps; both are in
    /// src/async/execution.cpp.
    stategraph::Task<bool> onceAsync(int number);
    std::chrono::nanoseconds waitTime(int number) const;

private:
    template <class F>
    bool settle(int number, TaskWatch& watch, F rest) noexcept;
    bool mayBegin(int number) noexcept;
    template <class F>
    void asNode(F call, const char* who = "node '");
    template <class F>
    void endInside(Run& child, F drive);

    struct Awaited;
    void attempt(int number);
    RunTaskContext beginAttempt(int number);
    void endAttempt(RunTaskContext& context, CachedTask& cached);
    [[noreturn]] void endRefused(RunTaskContext& context);
    void call(RunTaskContext& context);
    void callNode(Runtime& runtime, RunTaskContext& context);
    void callApart(const detail::NodeAction& action, RunTaskContext& context, std::shared_ptr<const void> input,
                   const AttemptLimits& limits);
    void takeAttempt(Attempt& attempt, Attempt::End end, RunTaskContext& context, const AttemptLimits& limits);
    bool takeParting(int number);
    void callSubgraph(int number);
    void takeResult();
    void nameSend(const std::exception_ptr& error) const noexcept;
    void takeParentCommand(ParentCommandSignal& signal);
    void route(Runtime& runtime);
    void routeAlone(Runtime& runtime);
    void routeBeside(Runtime& runtime);
    void finish();
    void failed(std::exception_ptr error) noexcept;
    void noteError() noexcept;
    // These are in error_handler.cpp.
    bool isHandled(const std::exception_ptr& error) const noexcept;
    bool handle(const std::exception_ptr& error, int attempts, TaskWatch& watch) noexcept;
    void callHandler();
    void interrupted(std::vector<Interrupt> asked);
    void stopped() noexcept;
    bool isWorthAnother(const std::exception_ptr& error, int attempt) const noexcept;
    bool isAlone() const noexcept { return env_.superstep->hasOneTask(); }

    TaskEnv& env_;
    Task& task_;
    const Node& node_;
    std::optional<Interrupt> asked_;  // what the node's attempt stopped to ask, until `settle` notes it
};

// Returns whether the attempt is to be made. It is not if the run is to end, or starts no more tasks.
inline bool Execution::mayBegin(int number) noexcept {
    task_.attempt = number;
    if (env_.stopStatus()) {
        stopped();
        return false;
    }
    if (number == 1 && env_.startsNoMore()) return false;  // it stays due
    if (number == 1 && !isAlone() && env_.measures()) task_.began = env_.times.now();
    if (number > 1 || task_.progress.wasLeft()) {  // otherwise it is as it was planned
        TaskExtra& extra = task_.useExtra();
        extra.asked_with_key.clear();
        extra.asked.clear();
        extra.calls.clear();
    }
    task_.progress.begin();
    return true;
}

inline RunTaskContext Execution::beginAttempt(int number) {
    if (number > 1 || task_.progress.wasLeft()) {  // otherwise it is as it was planned
        task_.result.writes.clear();
        task_.result.go_to.clear();
        task_.result.to_parent = false;
        task_.result.written = nullptr;
        task_.routes.clear();
    }
    return {env_, task_, number};
}

inline void Execution::endAttempt(RunTaskContext& context, CachedTask& cached) {
    if (env_.shared.refusal.isNoted()) [[unlikely]]
        endRefused(context);
    if (asked_) return;
    if (task_.result.to_parent) {
        cached.drop();
        task_.progress.end(TaskStatus::to_parent);
        return;
    }
    cached.noteWrites();
    takeResult();
    cached.noteRoutes();
    if (!node_.branches.empty()) {
        Runtime runtime(context);
        route(runtime);
    }
    try {
        finish();
    } catch (...) {
        if (env_.superstep->isApplied()) env_.takeBackWrites();  // what routeAlone put into the state
        throw;
    }
    cached.store();
}

// Handles the outcome of an attempt: `rest` performs it or its remaining part. Returns false if the task is to be tried
// again.
template <class F>
bool Execution::settle(int number, TaskWatch& watch, F rest) noexcept {
    try {
        try {
            rest();
            if (asked_) {
                Interrupt asked = std::move(*asked_);
                asked_.reset();
                interrupted(TaskQuestions(env_, task_).takeAsked(&asked));
            }
        } catch (detail::InterruptSignal& signal) {
            interrupted(TaskQuestions(env_, task_).takeAsked(&signal.interrupt));
        } catch (const InnerPause& pause) {
            task_.useExtra().wake_at = pause.wake_at;
            interrupted(task_.extra().calls.empty() ? pause.interrupts : TaskQuestions(env_, task_).takeAsked(nullptr));
        } catch (const detail::SleepSignal& sleep) {
            task_.useExtra().wake_at = times::ofUnixMs(sleep.wake_unix_ms);
            interrupted(TaskQuestions(env_, task_).takeAsked(nullptr));
        } catch (const detail::StopSignal&) {
            stopped();
        } catch (const detail::RefusedAnswerSignal& refused) {
            TaskQuestions(env_, task_).withdrawAnswer(refused.id, refused.index);
            throw WrongTypeError(refused.why, {.node = node_.name});
        }
    } catch (...) {
        const std::exception_ptr error = std::current_exception();
        if (env_.stopStatus()) {  // a failure now is a consequence of being stopped, and not the node's fault
            stopped();
            return true;
        }
        if (isWorthAnother(error, number)) {
            watch.retries(error);
            return false;
        }
        if (env_.shared.refusal.isNoted() || !handle(error, number, watch)) failed(error);
    }
    return true;
}

// Calls `call`, and turns what the node itself, or its error handler, throws into a NodeError, which begins with `who`.
// A question is noted in `asked_` and not thrown on, because that would cost as much again as the throw in the node.
template <class F>
void Execution::asNode(F call, const char* who) {
    try {
        call();
        if (!task_.extra().asked.empty()) asked_ = std::move(task_.useExtra().asked.front());  // stopOnReturn
    } catch (detail::InterruptSignal& signal) {
        asked_ = std::move(signal.interrupt);
    } catch (const MissingCheckpointerError&) {
        throw;
    } catch (const InnerPause&) {
        throw;
    } catch (ParentCommandSignal& signal) {
        takeParentCommand(signal);  // of a graph that the node called
    } catch (const detail::SleepSignal&) {
        throw;
    } catch (const detail::StopSignal&) {
        throw;
    } catch (const detail::RefusedAnswerSignal&) {
        throw;
    } catch (const detail::CallFailure<SaverError>&) {
        throw;
    } catch (const detail::CallFailure<ConcurrentUpdateError>&) {
        throw;
    } catch (const detail::CallFailure<CorruptCheckpointError>&) {
        throw;
    } catch (const detail::CallFailure<InvalidArgumentError>&) {
        throw;
    } catch (...) {
        throw env_.nodeError(task_, who + node_.name + "' failed: ");
    }
}

// Takes the outcome of the run inside.
template <class F>
void Execution::endInside(Run& child, F drive) {
    const auto leave = [&] {
        task_.useExtra().inner_ids = child.env().ids;
        if (child.env().isPerThread()) task_.useExtra().inner_end = child.env().log.stored();
    };
    try {
        const RunOutcome& outcome = drive();
        leave();
        if (outcome.status != Status::done) throw InnerPause{outcome.interrupts, outcome.wake_at};
    } catch (ParentCommandSignal& signal) {
        leave();
        takeParentCommand(signal);
        return;
    } catch (const InnerPause&) {
        throw;
    } catch (...) {
        leave();
        throw;
    }
    SubgraphVisit(env_, task_).takeOutput(child);
}

}  // namespace stategraph::engine
