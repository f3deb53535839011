#include "src/run/execution.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include <stategraph/error.hpp>

#include "src/commit/task_record.hpp"
#include "src/task/cached_task.hpp"
#include "src/task/task_input.hpp"

namespace stategraph::engine {
namespace {

using detail::InterruptSignal;
using detail::RefusedAnswerSignal;
using detail::SleepSignal;
using detail::StopSignal;
using detail::TaskContext;

}  // namespace

void Execution::operator()() noexcept {
    try {
        for (int number = 1; !once(number); ++number) waitAfter(number);
    } catch (...) {  // it cannot wait: no memory
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

// At most a century: what is longer has no place in a clock.
std::chrono::nanoseconds Execution::waitTime(int number) const {
    const auto wait = retryWait(task_.retried_by == nullptr ? node_.retry : *task_.retried_by, number);
    if (env_.observation) env_.observeRetry(task_, number, wait);
    return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(wait.count() * 1e6, 3.15e18)));
}

bool Execution::isWorthAnother(const std::exception_ptr& error, int attempt) const noexcept {
    if (task_.record.failure) return false;  // an error handler is tried once
    std::exception_ptr original;
    try {
        std::rethrow_exception(error);
    } catch (const NodeError& node_error) {
        original = node_error.original();
    } catch (...) {
        return false;  // not the node's: a write that nothing can take, a saver that failed
    }
    try {
        task_.retried_by = policyAfter(node_.retry, original, attempt);
        return task_.retried_by != nullptr;
    } catch (...) {
        return false;  // a predicate that fails says no
    }
}

void Execution::attempt(int number) {
    TaskContext context = beginAttempt(number);
    std::optional<FlightMark> mark;
    if (env_.is_inside_flight) mark.emplace();  // this thread may be another than that of who leads
    CachedTask cached(env_, task_, context);
    if (!cached.restoreOrLead()) call(context);
    endAttempt(context, cached);
}

void Execution::call(TaskContext& context) {
    if (task_.planned.node == env_.topology().start) {
        task_.result.writes = env_.schedule.input;  // a copy: the superstep may have to be repeated
        return;
    }
    if (node_.subgraph) {
        callSubgraph(context.attempt);
        return;
    }
    Runtime runtime(context);
    asNode([&] { callNode(runtime, context); });
}

NodeError Execution::nodeError(std::string text, std::exception_ptr original) {
    ErrorContext context{.node = node_.name, .step = env_.place.step};
    text += detail::describeWithin(context, original);
    return {std::move(text), std::move(original), env_.idOf(task_).toString(), std::move(context)};
}

// Of the exception under way, which is the user's.
NodeError Execution::nodeError(std::string text) { return nodeError(std::move(text), std::current_exception()); }

void Execution::callNode(Runtime& runtime, TaskContext& context) {
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

void Execution::callApart(const detail::NodeAction& called, TaskContext& context, std::shared_ptr<const void> input,
                          const AttemptLimits& limits) {
    const detail::NodeAction* action = &called;
    if (task_.leads_flight || env_.is_inside_flight) {
        const auto marked = std::make_shared<ActionInFlight>(called, std::move(input));
        action = &marked->outer;
        input = std::shared_ptr<const void>(marked, marked->input.get());  // so it lives as long as the attempt
    }
    const auto attempt = std::make_shared<Attempt>(env_.core().shared_from_this(), *action, std::move(input), context,
                                                   env_.stop, limits);
    takeAttempt(*attempt, attempt->run(), context, limits);
}

void Execution::takeAttempt(Attempt& attempt, Attempt::End end, TaskContext& context, const AttemptLimits& limits) {
    if (end != Attempt::End::returned) env_.state.leave();
    switch (end) {
        case Attempt::End::returned:
            context.calls = attempt.calls();
            task_.result = attempt.takeResult();
            return;
        case Attempt::End::stopped:
            throw StopSignal{};
        case Attempt::End::timed_out:
            throw NodeTimeoutError(NodeTimeoutError::Kind::run, *limits.timeout,
                                   {.node = node_.name, .step = env_.place.step});
        case Attempt::End::idle:
            throw NodeTimeoutError(NodeTimeoutError::Kind::idle, *limits.idle_timeout,
                                   {.node = node_.name, .step = env_.place.step});
    }
}

void Execution::callSubgraph(int number) {
    detail::RunInput input = inputInside();
    const ParentLink link = linkInside(number);
    Run child(*node_.subgraph->spec.core, env_.shared, &link);
    endInside(child, [&]() -> auto& { return child.drive(std::move(input)); });
}

// A later attempt goes on where the one before it failed.
ParentLink Execution::linkInside(int number) const {
    const bool is_first = number == 1 && !task_.progress.wasLeft();
    ParentLink link{&env_, &task_, env_.startInside(is_first),
                    task_.extra().visit ? std::string_view(task_.extra().visit->key) : std::string_view(), nullptr};
    if (is_first) link.stop = env_.nextStop(task_, link.key);
    return link;
}

detail::RunInput Execution::inputInside() {
    detail::RunInput input;
    try {
        if (task_.extra().visit) {
            if (task_.extra().visit->failure) std::rethrow_exception(task_.extra().visit->failure);
            input.writes = detail::Writes(task_.extra().visit->input);
        } else {
            makeInput(env_.core().schema(), node_, env_.state.values, env_.sendOf(task_), input.writes);
        }
    } catch (const VisitFailure& failure) {
        throw nodeError(failure.what, failure.original);
    }
    if (env_.hasSaver()) checkVisits();
    return input;
}

bool Execution::isVisitedTwice() const {
    if (task_.extra().visit) return task_.extra().visit->is_doubled;
    if (!livesWithThread(*node_.subgraph->spec.core)) return false;
    const auto isHere = [this](const Task* task) { return task->planned.node == task_.planned.node; };
    return std::ranges::count_if(env_.superstep->tasks(), isHere) > 1;
}

// One log takes one visit at a time.
void Execution::checkVisits() const {
    if (!isVisitedTwice()) return;
    const ErrorContext context{.node = node_.name, .step = env_.place.step};
    if (task_.extra().visit) {
        throw InvalidUpdateError("the log '" + task_.extra().visit->key + "' of the subgraph '" + node_.name +
                                     "' is to be visited several times in one superstep, and takes one visit at a "
                                     "time: make keys that differ, or "
                                     "visit it in supersteps of their own",
                                 context);
    }
    throw InvalidUpdateError(
        "the PER_THREAD subgraph '" + node_.name +
            "' is to be visited several times in one superstep, and its one log takes one visit at a time: compile it "
            "with a key for each (perThread) or without PER_THREAD, or visit it in supersteps of their own",
        context);
}

void Execution::takeInside(Run& child) {
    const Subgraph& subgraph = *node_.subgraph;
    if (subgraph.spec.from_inner != nullptr) {
        try {
            subgraph.spec.from_inner(subgraph.spec.from_inner_callable.get(), child.state().object(),
                                     task_.result.writes);
        } catch (...) {
            throw nodeError("the function that maps out of the subgraph of node '" + node_.name + "' failed: ");
        }
        return;
    }
    const detail::Schema& inner = child.core().schema();
    for (const SharedChannel& shared : subgraph.out) {
        if (!child.state().has(shared.inner)) continue;
        const auto& channel = env_.core().schema().channel(shared.outer);
        channel.behaviour->write(channel, child.state().value(inner.channel(shared.inner)), task_.result.writes);
    }
}

void adoptCommand(ParentCommandSignal& signal, const detail::Schema& own, const Node& node) {
    if (signal.schema == &own) return;
    if (signal.is_typed && signal.schema->state().type != own.state().type) {
        throw InvalidUpdateError("a node inside '" + node.name +
                                     "' returned a Command for the parent graph whose update is of another state than "
                                     "that graph's: return a Command of the parent's state",
                                 {.node = node.name});
    }
    for (detail::Op& op : signal.result.writes) {
        if (op.channel == detail::channel_by_name) continue;
        const auto& from = signal.schema->channel(op.channel);
        const detail::ChannelSpec* to = own.find(from.name);
        if (to == nullptr || to->type != from.type) {
            throw InvalidUpdateError("a Command for the parent graph writes channel '" + from.name +
                                         "', which the parent does not have with that type",
                                     {.node = node.name, .channel = from.name});
        }
        op.channel = to->index;
    }
    signal.schema = &own;
}

// What a task inside wrote for this graph.
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
        std::size_t index = 0;
        for (detail::Op& op : task_.result.writes) {
            const auto& channel = schema.channel(op.channel);
            if (channel.behaviour->prepare != nullptr) channel.behaviour->prepare(channel, op, env_.idOf(task_), index);
            ++index;
        }
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
        throw nodeError("a router of node '" + node_.name + "' failed: ");
    }
}

// The only task of its superstep: its writes go into the state itself, where the routers see them, and come out again
// if one of them fails.
void Execution::routeAlone(Runtime& runtime) {
    WriteSet& writes = env_.superstep->memory().writes;
    writes.clear();
    writes.add(env_.core().schema(), task_.result.writes, node_.name);
    try {
        writes.close(env_.core().schema());
    } catch (const InvalidUpdateError&) {
        return;  // the end of the superstep will say so
    }
    env_.prepareSingle(task_);
    env_.superstep->memory().present_before = env_.state.values.present();
    env_.applyTasksWrites();
    try {
        routeBranches(node_, env_.topology(), env_.state.values.object(), runtime, task_.routes);
    } catch (...) {
        env_.takeBackWrites();
        throw;
    }
}

// Beside others: the routers see a copy.
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
    env_.taskFinished(task_);
    task_.progress.end(TaskStatus::finished);
}

// Equal nodes of one superstep differ in their Sends. An error of a task inside has its own task's.
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
        // It is the failure that matters.
    }
}

void Execution::failed(std::exception_ptr error) noexcept {
    env_.superstep->noteFailure();
    nameSend(error);
    task_.progress.end(TaskStatus::failed);
    task_.useExtra().failure = std::move(error);
    task_.result.writes.clear();
    task_.routes.clear();
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
        task_.record.error = "out of memory";  // short enough to need none
    }
    env_.taskStopped(task_);
}

void Execution::couldNotRun(const std::exception_ptr& why) noexcept {
    if (task_.progress.hasEnded()) return;
    if (env_.stopStatus()) return stopped();
    try {
        std::rethrow_exception(why);
    } catch (const std::system_error&) {  // no thread
        try {
            failed(std::make_exception_ptr(nodeError(
                "node '" + node_.name + "' could not be run; RESUME runs it when threads can be started again: ")));
        } catch (...) {
            failed(why);
        }
    } catch (...) {
        failed(why);
    }
}

// Nothing of it is kept: it is as if it had not begun.
void Execution::stopped() noexcept {
    task_.progress.end(TaskStatus::stopped);
    task_.result.writes.clear();
    task_.routes.clear();
    if (isAlone()) env_.superstep->drafts().clear();
}

void Execution::interrupted(std::vector<Interrupt> asked) {
    task_.progress.end(TaskStatus::interrupted);
    task_.useExtra().asked = std::move(asked);
    task_.result.writes.clear();
    task_.routes.clear();
    if (!task_.extra().asked.empty()) task_.record.interrupts = task_.extra().asked;
    env_.taskStopped(task_);
}

}  // namespace stategraph::engine
