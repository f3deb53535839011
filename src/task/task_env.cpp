#include "src/task/task_env.hpp"

#include "src/commit/task_record.hpp"

namespace stategraph::engine {
namespace {

using detail::CheckpointerKind;

Place placeOf(const detail::Core& core, const RunShared& shared, const ParentLink* link) {
    if (link == nullptr) return {core, shared.config->thread_id.view()};
    const Place& outer = link->env->place;
    const Node& node = outer.nodeOf(*link->task);
    if (link->call != nullptr)
        return {core, outer, calledNamespace(outer.ns, node, link->call->caller, link->call->key)};
    return {core, outer, innerNamespace(outer.ns, node, outer.idOf(*link->task), link->key)};
}

IdSequence idsOf(const detail::Core& core, const RunShared& shared, const ParentLink* link) {
    if (link == nullptr) return {core.ids(), shared.saver ? core.ids().uniqueBits() : 0};
    return link->env->ids.inner(link->call ? link->call->id : link->env->idOf(*link->task));
}

RunTimes timesOf(const detail::Core& core, const RunShared& shared, const ParentLink* link) {
    if (link != nullptr) return link->env->times.inner();
    return {core.ids(), core.measures() && shared.saver != nullptr};
}

std::shared_ptr<RunStop> stopOf(const RunShared& shared, const ParentLink* link) {
    if (link == nullptr) return shared.stop;
    return link->call != nullptr ? link->call->stop : link->env->stop;
}

// Of two runs that are to begin the same thread, one is refused where its input is stored, before a node is called.
Durability durabilityOf(const RunConfig& config) noexcept {
    return config.only_new && config.durability == Durability::exit ? Durability::async : config.durability;
}

}  // namespace

TaskEnv::TaskEnv(const detail::Core& graph, RunShared& run, const ParentLink* outer, void* object)
    : shared(run),
      link(outer),
      stop(stopOf(run, outer)),
      place(placeOf(graph, run, outer)),
      state(graph.schema(), object),
      ids(idsOf(graph, run, outer)),
      times(timesOf(graph, run, outer)),
      limits(graph, *run.config, outer != nullptr ? &outer->env->limits : nullptr),
      teller(*run.events, place, state.values, schedule, ids.source()),
      observation(run.is_submission ? nullptr : graph.options().observer.get(), run.config->observer) {
    schedule.reset(graph.topology());
    log.start({.saver = graph.options().checkpointer.kind() == CheckpointerKind::none ? nullptr : run.saver,
               .thread_id = place.thread_id,
               .checkpoint_ns = place.ns,
               .durability = durabilityOf(*run.config),
               .metadata = run.metadata,
               .parents = place.parents,
               .graph = graph.topology().fingerprint,
               .schema = graph.schema().fingerprint(),
               .core = &graph,
               .executor = run.executor,
               .watcher = outer == nullptr ? run.events->watcher() : nullptr,
               .refusal = &run.refusal,
               .root = outer == nullptr ? nullptr : &outer->env->root().log});
}

TaskEnv& TaskEnv::root() noexcept {
    TaskEnv* env = this;
    while (env->link != nullptr) env = env->link->env;
    return *env;
}

void TaskEnv::noteCut() noexcept {
    if (shared.stop && shared.stop->requested()) shared.was_cut = true;
}

std::shared_ptr<BaseStore> TaskEnv::store() const noexcept {
    const TaskEnv* env = this;
    while (!env->core().options().store && env->link != nullptr) env = env->link->env;
    return env->core().options().store;
}

bool TaskEnv::isPerThread() const noexcept { return link != nullptr && livesWithThread(core()); }

InnerStart TaskEnv::startInside(bool is_first) const noexcept {
    // Runs inside resume where they were in the first superstep only. But a graph without a log that is run again
    // begins from its beginning, and each of its supersteps may repeat one of the previous run.
    const Start* const first = superstep->start();
    const bool repeats = link != nullptr && link->start.resuming && !hasSaver();
    const InnerStart start = first != nullptr ? first->inside : repeats ? link->start : InnerStart();
    return {.resuming = start.resuming || !is_first, .replaying = start.replaying && is_first, .bound = start.bound};
}

const TravelStop* TaskEnv::nextStop(const Task& task, std::string_view key) const {
    const Start* const start = superstep->start();
    if (start == nullptr || start->stop == nullptr || start->stop == &shared.stops.back()) return nullptr;
    const TravelStop& here = *start->stop;
    const Node& node = nodeOf(task);
    const TaskId then = makeTaskId(
        {here.id, here.ns, start->from->commit.step + 1, node.stored_name, pathOf(topology(), task.planned)});
    const TravelStop* next = &here + 1;
    return innerNamespace(here.ns, node, then, key) == next->ns ? next : nullptr;
}

// Channels that last for one superstep are cleared after the routers have seen them.
void TaskEnv::applyTasksWrites() {
    SuperstepMemory& each = memory->superstep;
    state.own();
    log.noteChanges(state.values, each.writes, true);
    each.ending.clear();
    if (!core().schema().transient().empty()) findEnding(state.values, each.writes, each.ending);
    const bool logs = log.logsOperations() && !log.snapshotIsDue();
    applyWrites(state.values, each.writes, each.ending, logs ? &log.operations() : nullptr);
    if (superstep) superstep->setApplied(true);
}

void TaskEnv::takeBackWrites() noexcept {
    const SuperstepMemory& each = memory->superstep;
    undoWrites(state.values, each.writes, each.present_before);
    log.operations().clear();
    superstep->drafts().clear();
    superstep->setApplied(false);
}

NodeError TaskEnv::nodeError(Task& task, std::string text, std::exception_ptr original) const {
    ErrorContext context{.node = nodeOf(task).name, .step = place.step};
    text += detail::describeWithin(context, original);
    return {std::move(text), std::move(original), idOf(task).toString(), std::move(context)};
}

}  // namespace stategraph::engine
