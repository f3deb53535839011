#include <algorithm>

#include "src/superstep/schedule.hpp"

namespace stategraph::engine {

void plan(const Topology& topology, const Schedule& schedule, std::vector<PlannedTask>& tasks) {
    tasks.clear();
    const auto due = [&tasks](NodeIndex node, std::uint64_t version) {
        tasks.push_back({.node = node, .is_send = false, .send = 0, .version = version});
    };
    if (schedule.has_input) due(topology.start, schedule.input_version);
    for (const NodeIndex node : schedule.activeEdges()) {
        const EdgeTrigger& edge = schedule.edge(node);
        if (edge.state == EdgeState::fired || edge.state == EdgeState::released) due(node, edge.version);
    }
    for (const JoinIndex join : schedule.activeJoins()) {
        if (schedule.isDue(topology, join)) due(topology.joins[join].target, schedule.join(join).version);
    }
    if (tasks.size() > 1) {
        // A node gets one task, however many triggers fired it; the newest trigger counts.
        std::sort(tasks.begin(), tasks.end(), [](const PlannedTask& a, const PlannedTask& b) {
            return a.node != b.node ? a.node < b.node : a.version > b.version;
        });
        const auto same = [](const PlannedTask& a, const PlannedTask& b) { return a.node == b.node; };
        tasks.erase(std::unique(tasks.begin(), tasks.end(), same), tasks.end());
    }
    for (std::uint32_t i = 0; i < schedule.sends.size(); ++i) {
        tasks.push_back({.node = schedule.sends[i].node, .is_send = true, .send = i, .version = schedule.version});
    }
}

}  // namespace stategraph::engine
