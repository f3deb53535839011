#include "src/commit/resume_check.hpp"

#include <algorithm>

#include <stategraph/error.hpp>

#include "src/commit/ids.hpp"
#include "src/commit/task_record.hpp"
#include "src/commit/visit.hpp"
#include "src/graph/core.hpp"

namespace stategraph::engine {
namespace {

using checkpoint::findRecord;

// Checks a finished task, whose writes are about to be applied and whose targets are due next.
void checkResult(const Topology& topology, const detail::Schema& schema, const checkpoint::TaskFields& record) {
    detail::Writes writes;
    Routes routes;
    restoreResult(topology, schema, record, writes, routes);
    for (const PendingSend& send : routes.sends) restorePayload(topology.nodes[send.node], send.stored);
}

/// The part of a log from which a run is about to resume.
struct LogCheck {
    CheckpointId at = {};       // none means the newest checkpoint
    CheckpointId bound = {};    // see Resumption::bound
    bool is_new_visit = false;  // of a subgraph's log that lives with the thread
    bool reruns = false;
};

void checkTuple(const detail::Core& core, BaseCheckpointSaver& saver, const LogName& log, CheckpointTuple tuple,
                const LogCheck& check) {
    const checkpoint::Folded folded = checkpoint::fold(log, std::move(tuple));
    const Topology& topology = core.topology();
    State state(core.schema());
    restoreState(folded, state);
    if (check.is_new_visit) return;  // the new input drops what is due
    Schedule schedule;
    restoreSchedule(topology, core.schema(), folded, schedule);
    if (topology.has_lasting && !schedule.knows_all_visits) {
        completeVisits(saver, log, check.bound, schedule, [](CheckpointId) { return true; });
    }
    const checkpoint::Records records = checkpoint::readRecords(log, folded.commit.id, folded.tuple.writes);
    if (const auto* command = findRecord(records, command_path)) {
        detail::Writes writes;
        Routes routes;
        restoreResult(topology, core.schema(), *command, writes, routes);
        applyCommand(writes, state);
        const Routed routed{no_node, &routes};
        advance(topology, schedule, {.consumed = {}, .routed = {&routed, 1}});
    }
    checkResumption({.core = core,
                     .saver = saver,
                     .log = log,
                     .checkpoint_id = folded.commit.id,
                     .step = folded.commit.step + 1,
                     .state = state,
                     .schedule = schedule,
                     .records = records,
                     .reruns = check.reruns,
                     .inner_afresh = check.reruns});
}

// Returns false if the checkpoint does not exist.
bool checkFound(const detail::Core& core, BaseCheckpointSaver& saver, const LogName& log,
                std::optional<CheckpointTuple> tuple, const LogCheck& check) {
    if (!tuple) return false;
    const CheckpointId id = tuple->id;
    try {
        checkTuple(core, saver, log, std::move(*tuple), check);
        return true;
    } catch (Error& error) {
        error.addContext({.checkpoint_ns = std::string(log.checkpoint_ns), .checkpoint_id = id.toString()});
        throw;
    }
}

bool checkLog(const detail::Core& core, BaseCheckpointSaver& saver, const LogName& log, const LogCheck& check) {
    return checkFound(core, saver, log, saver.getTuple({.log = log, .checkpoint_id = check.at}), check);
}

void checkInner(const Resumption& outer, const Node& node, const PlannedTask& planned, const std::string& path) {
    const detail::Core& core = *node.subgraph->spec.core;
    if (core.options().checkpointer.kind() == detail::CheckpointerKind::none) return;
    const bool lives_on = livesWithThread(core);
    if (outer.inner_afresh && !lives_on) return;
    const TaskId task = makeTaskId({outer.checkpoint_id, outer.log.checkpoint_ns, outer.step, node.stored_name, path});
    const PendingSend* const send = planned.is_send ? &outer.schedule.sends[planned.send] : nullptr;
    const auto key = findKey(outer.core.schema(), node, outer.state, send);
    if (!key) return;
    const std::string ns = innerNamespace(outer.log.checkpoint_ns, node, task, *key);
    const LogName log{outer.log.thread_id, ns};
    if (!lives_on) {
        (void)checkLog(core, outer.saver, log, {});
        return;
    }
    const VisitFrom from{outer.log.checkpoint_ns, outer.checkpoint_id, outer.checkpoint_id};
    CheckpointId head;
    std::optional<CheckpointTuple> tuple;
    if (!outer.inner_afresh) tuple = findVisit(outer.saver, log, from, head);
    const bool is_new = !tuple;
    if (is_new) tuple = findVisitStart(outer.saver, log, from, outer.schedule.lastVisit(lastingLog(node, *key)), head);
    (void)checkFound(core, outer.saver, log, std::move(tuple), {.bound = outer.bound, .is_new_visit = is_new});
}

void checkTask(const Resumption& resumption, const PlannedTask& task) {
    const Topology& topology = resumption.core.topology();
    const Node& node = topology.nodes[task.node];
    const std::string path = pathOf(topology, task);
    const checkpoint::TaskFields* record = resumption.reruns ? nullptr : findRecord(resumption.records, path);
    try {
        if (record != nullptr && record->writes) {
            checkResult(topology, resumption.core.schema(), *record);
            return;
        }
        if (task.is_send && resumption.schedule.sends[task.send].payload.empty()) {
            restorePayload(node, resumption.schedule.sends[task.send].stored);
        }
        if (node.subgraph) checkInner(resumption, node, task, path);
    } catch (Error& error) {
        error.addContext({.node = node.name});
        throw;
    }
}

}  // namespace

void checkResumption(const Resumption& resumption) {
    std::vector<PlannedTask> tasks;
    plan(resumption.core.topology(), resumption.schedule, tasks);
    try {
        for (const PlannedTask& task : tasks) checkTask(resumption, task);
    } catch (Error& error) {
        error.addContext({.checkpoint_ns = std::string(resumption.log.checkpoint_ns),
                          .checkpoint_id = resumption.checkpoint_id.toString()});
        throw;
    }
}

bool checkStop(const detail::Core& core, BaseCheckpointSaver& saver, const LogName& log, CheckpointId id) {
    return checkLog(core, saver, log, {.at = id, .reruns = true});
}

void checkNewest(const detail::Core& core, BaseCheckpointSaver& saver, const LogName& log) {
    (void)checkLog(core, saver, log, {});
}

}  // namespace stategraph::engine
