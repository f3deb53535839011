#include "src/commit/finished_tasks.hpp"

#include <vector>

#include "src/commit/restore.hpp"
#include "src/commit/task_record.hpp"

namespace stategraph::engine {
namespace {

struct Finished {
    PlannedTask task;
    detail::Writes writes;
    Routes routes;
    bool leads_by_itself;  // a task whose failure was handled leads only where its handler says
};

}  // namespace

bool applyFinished(const Topology& topology, const checkpoint::Records& records, std::span<const PlannedTask> due,
                   State& state, Schedule& schedule) {
    const detail::Schema& schema = state.schema();
    std::vector<Finished> finished;
    for (const PlannedTask& task : due) {
        const checkpoint::TaskFields* record = records.find(pathOf(topology, task));
        if (record == nullptr || !record->writes) continue;
        Finished& each = finished.emplace_back(task, detail::Writes(), Routes(), !record->failure);
        restoreResult(topology, schema, *record, each.writes, each.routes, GoneNodes::skip);
    }
    if (finished.empty()) return false;
    WriteSet writes;
    std::vector<PlannedTask> consumed;
    std::vector<Routed> routed;
    for (Finished& each : finished) {
        writes.add(schema, each.writes, topology.nodes[each.task.node].name);
        consumed.push_back(each.task);
        routed.push_back({each.leads_by_itself ? each.task.node : no_node, &each.routes});
    }
    writes.close(schema);
    std::vector<detail::ChannelIndex> ending;
    findEnding(state, writes, ending);
    applyWrites(state, writes, {}, nullptr);
    endChannels(state, ending);
    advance(topology, schedule, {.consumed = consumed, .routed = routed, .is_step = true});
    return true;
}

}  // namespace stategraph::engine
