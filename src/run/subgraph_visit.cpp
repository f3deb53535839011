#include "src/run/subgraph_visit.hpp"

#include <algorithm>

#include <stategraph/error.hpp>

#include "src/task/task_input.hpp"

namespace stategraph::engine {

detail::RunInput SubgraphVisit::input() const {
    detail::RunInput input;
    try {
        if (task_.extra().visit) {
            if (task_.extra().visit->failure) std::rethrow_exception(task_.extra().visit->failure);
            input.writes = detail::Writes(task_.extra().visit->input);
        } else {
            makeInput(env_.core().schema(), node_, env_.state.values, env_.sendOf(task_), input.writes);
        }
    } catch (const VisitFailure& failure) {
        throw env_.nodeError(task_, failure.what, failure.original);
    }
    if (env_.hasSaver()) checkVisits();
    return input;
}

ParentLink SubgraphVisit::link(int attempt) const {
    const bool is_first = attempt == 1 && !task_.progress.wasLeft();
    ParentLink link{&env_, &task_, env_.startInside(is_first),
                    task_.extra().visit ? std::string_view(task_.extra().visit->key) : std::string_view(), nullptr};
    if (is_first) link.stop = env_.nextStop(task_, link.key);
    return link;
}

bool SubgraphVisit::isVisitedTwice() const {
    if (task_.extra().visit) return task_.extra().visit->is_doubled;
    if (!livesWithThread(*node_.subgraph->spec.core)) return false;
    const auto isHere = [this](const Task* task) { return task->planned.node == task_.planned.node; };
    return std::ranges::count_if(env_.superstep->tasks(), isHere) > 1;
}

// A log can be visited by one task at a time.
void SubgraphVisit::checkVisits() const {
    if (!isVisitedTwice()) return;
    const ErrorContext context{.node = node_.name, .step = env_.place.step};
    if (task_.extra().visit) {
        throw InvalidUpdateError("the log '" + task_.extra().visit->key + "' of the subgraph '" + node_.name +
                                     "' is to be visited several times in one superstep, and takes one visit at a "
                                     "time: use different keys, or "
                                     "visit it in supersteps of their own",
                                 context);
    }
    throw InvalidUpdateError(
        "the PER_THREAD subgraph '" + node_.name +
            "' is to be visited several times in one superstep, and its one log takes one visit at a time: compile it "
            "with a key for each (perThread) or without PER_THREAD, or visit it in supersteps of their own",
        context);
}

void SubgraphVisit::takeOutput(Run& child) const {
    const Subgraph& subgraph = *node_.subgraph;
    env_.teller.noteInside(env_.place.idOf(task_), child.core(), child.state());
    if (subgraph.spec.from_inner != nullptr) {
        try {
            subgraph.spec.from_inner(subgraph.spec.from_inner_callable.get(), child.state().object(),
                                     task_.result.writes);
        } catch (...) {
            throw env_.nodeError(task_,
                                 "the function that maps out of the subgraph of node '" + node_.name + "' failed: ");
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

}  // namespace stategraph::engine
