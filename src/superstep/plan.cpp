#include <algorithm>

#include "src/superstep/schedule.hpp"

// What most supersteps do not need is in functions of its own.
namespace stategraph::engine {
namespace {

// A node gets one task, however many triggers fired it; the newest trigger counts.
[[gnu::noinline]] void sortUnique(std::vector<PlannedTask>& tasks) {
    const auto before = [](const PlannedTask& a, const PlannedTask& b) {
        return a.node != b.node ? a.node < b.node : a.version > b.version;
    };
    if (!std::is_sorted(tasks.begin(), tasks.end(), before)) std::sort(tasks.begin(), tasks.end(), before);
    const auto same = [](const PlannedTask& a, const PlannedTask& b) { return a.node == b.node; };
    tasks.erase(std::unique(tasks.begin(), tasks.end(), same), tasks.end());
}

[[gnu::noinline]] void planJoins(const Topology& topology, const Schedule& schedule, std::vector<PlannedTask>& tasks) {
    for (const JoinIndex join : schedule.activeJoins()) {
        if (!schedule.isDue(topology, join)) continue;
        tasks.push_back({.node = topology.joins[join].target, .version = schedule.join(join).version});
    }
}

[[gnu::noinline]] void planSends(const Schedule& schedule, std::vector<PlannedTask>& tasks) {
    for (std::uint32_t i = 0; i < schedule.sends.size(); ++i) {
        tasks.push_back({.node = schedule.sends[i].node, .is_send = true, .send = i, .version = schedule.version});
    }
}

}  // namespace

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
    if (!schedule.activeJoins().empty()) planJoins(topology, schedule, tasks);
    if (tasks.size() > 1) sortUnique(tasks);
    if (!schedule.sends.empty()) planSends(schedule, tasks);
}

}  // namespace stategraph::engine
