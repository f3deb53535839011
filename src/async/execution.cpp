#include "src/run/execution.hpp"

#include <stategraph/detail/async.hpp>

#include "src/async/awaited_attempt.hpp"
#include "src/async/drive.hpp"
#include "src/async/stored.hpp"
#include "src/task/task_input.hpp"

// Makes an awaited attempt of a task. It does what Execution::once does, except for the middle part, which belongs to
// the node or the inner run.
namespace stategraph::engine {

/// What is awaited in the middle of an attempt. One of the members is set.
struct Execution::Awaited {
    struct Inside {
        Inside(const detail::Core& core, RunShared& shared, const ParentLink& around)
            : link(around), child(core, shared, &link) {}
        const ParentLink link;
        Run child;
    };

    Awaited(Execution& execution, const RunTaskContext& context);
    Awaited(const Awaited&) = delete;
    Awaited& operator=(const Awaited&) = delete;

    detail::RunInput inside_input;
    std::unique_ptr<Inside> inside;         // the run of a subgraph
    std::shared_ptr<AwaitedAttempt> apart;  // a node that can be abandoned
    std::optional<TaskInput> input;         // any other node
};

Execution::Awaited::Awaited(Execution& execution, const RunTaskContext& context) {
    TaskEnv& env = execution.env_;
    const Node& node = execution.node_;
    if (node.subgraph) {
        const SubgraphVisit visit(env, execution.task_);
        inside_input = visit.input();
        inside = std::make_unique<Inside>(*node.subgraph->spec.core, env.shared, visit.link(context.attempt));
    } else if (env.callsApart(node)) {
        apart =
            std::make_shared<AwaitedAttempt>(env.core().shared_from_this(), node.action,
                                             TaskInput::shared(env, execution.task_), context, env.stop, node.limits);
    } else {
        input.emplace(env, execution.task_, false);
    }
}

stategraph::Task<bool> Execution::onceAsync(int number) {
    if (!mayBegin(number)) co_return true;
    TaskWatch watch(env_.observation, env_.place, env_.stop.get(), task_, number);
    if (task_.record.failure) {
        const auto handler = [&] { callHandler(); };
        co_return settle(number, watch, handler);
    }
    RunTaskContext context = beginAttempt(number);
    Runtime runtime(context);
    std::optional<CachedTask> cached;
    std::optional<Awaited> awaited;  // none if the result is known, or if the attempt failed before
    Attempt::End end = Attempt::End::returned;
    RunOutcome outcome;
    std::exception_ptr before;
    std::exception_ptr error;
    try {
        cached.emplace(env_, task_, context);
        if (!cached->restore()) awaited.emplace(*this, context);
    } catch (...) {
        before = std::current_exception();
    }
    if (awaited) {
        try {
            if (awaited->inside) {
                outcome = co_await driveAsync(awaited->inside->child, std::move(awaited->inside_input));
            } else if (awaited->apart) {
                end = co_await AwaitedAttempt::await(awaited->apart);
            } else {
                stategraph::Task<void> node =
                    node_.action.start(node_.action.callable.get(), awaited->input->get(), runtime, task_.result);
                co_await std::move(node);
            }
        } catch (...) {
            error = std::current_exception();
            if (awaited->apart) env_.state.leave();
        }
    }
    // What an abandoned attempt knows of its effects is stored before another attempt asks.
    if (end != Attempt::End::returned) co_await Stored(env_.root().log);
    const auto ended = [&]() -> const RunOutcome& {
        if (error) std::rethrow_exception(error);
        return outcome;
    };
    const auto rest = [&] {
        if (before) std::rethrow_exception(before);
        if (awaited && awaited->inside) {
            endInside(awaited->inside->child, ended);
        } else if (awaited) {
            asNode([&] {
                (void)ended();
                if (awaited->apart) takeAttempt(*awaited->apart, end, context, node_.limits);
            });
        }
        endAttempt(context, *cached);
    };
    co_return settle(number, watch, rest);
}

}  // namespace stategraph::engine
