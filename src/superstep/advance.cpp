#include <algorithm>

#include "src/superstep/schedule.hpp"

namespace stategraph::engine {

// Only `advanceAlone` calls it, in nearly each superstep.
[[gnu::always_inline]] inline void Schedule::fireOnly(std::span<const NodeIndex> nodes, std::span<const NodeIndex> more,
                                                      std::uint64_t at_version) {
    for (const NodeIndex node : active_edges_) edges_[node] = {};
    active_edges_.clear();
    const auto fire = [&](NodeIndex node) {
        if (edges_[node].state == EdgeState::idle) active_edges_.push_back(node);
        edges_[node] = {EdgeState::fired, at_version};
    };
    for (const NodeIndex node : nodes) fire(node);
    for (const NodeIndex node : more) fire(node);
    if (active_edges_.size() > 1) std::sort(active_edges_.begin(), active_edges_.end());
}

namespace {

void noteRan(Schedule& schedule, std::span<const PlannedTask> ran) {
    bool pulled = false;
    for (const PlannedTask& task : ran) {
        if (task.is_send) continue;
        pulled = true;
        LastRan& last = schedule.last;
        if (task.version > last.version || last.kind == LastRan::Kind::nobody) {
            last = {LastRan::Kind::one, task.node, task.version};
        } else if (task.version == last.version && task.node != last.node) {
            last.kind = LastRan::Kind::several;
        }
    }
    if (!pulled && !ran.empty()) schedule.last = {LastRan::Kind::several, no_node, schedule.version};
}

void consume(const Topology& topology, Schedule& schedule, std::span<const PlannedTask> consumed) {
    bool sent = false;
    for (const PlannedTask& task : consumed) {
        if (task.is_send) {
            sent = true;
            continue;
        }
        if (task.node == topology.start) {
            schedule.has_input = false;
            schedule.input.clear();
        }
        const EdgeState edge = schedule.edge(task.node).state;
        if (edge == EdgeState::fired || edge == EdgeState::released) schedule.setEdge(task.node, EdgeState::idle, 0);
    }
    for (const JoinIndex join : schedule.activeJoins()) {
        if (!schedule.isDue(topology, join)) continue;
        const NodeIndex target = topology.joins[join].target;
        const auto ran =
            std::lower_bound(consumed.begin(), consumed.end(), target,
                             [](const PlannedTask& task, NodeIndex node) { return !task.is_send && task.node < node; });
        if (ran != consumed.end() && !ran->is_send && ran->node == target) schedule.resetJoin(join);
    }
    if (sent) schedule.sends.clear();
}

// Edges fire for one superstep, whether or not a task consumed them.
void dropFired(Schedule& schedule) {
    for (const NodeIndex node : schedule.activeEdges()) {
        if (schedule.edge(node).state == EdgeState::fired) schedule.setEdge(node, EdgeState::idle, 0);
    }
    schedule.sends.clear();
    schedule.has_input = false;
    schedule.input.clear();
}

void releaseDeferred(const Topology& topology, Schedule& schedule, std::uint64_t version) {
    for (const NodeIndex node : schedule.activeEdges()) {
        if (schedule.edge(node).state == EdgeState::waiting) schedule.setEdge(node, EdgeState::released, version);
    }
    for (const JoinIndex join : schedule.activeJoins()) {
        if (topology.joins[join].deferred && schedule.isFull(topology, join) && !schedule.join(join).released) {
            schedule.releaseJoin(join, version);
        }
    }
}

// The common case: one triggered task ran, nothing else was due, and none of its edges waits for anything.
bool advanceAlone(const Topology& topology, Schedule& schedule, const Advance& by) {
    if (!by.is_step || by.input != nullptr || by.consumed.size() != 1 || by.routed.size() != 1) return false;
    const PlannedTask& task = by.consumed.front();
    const Routed& from = by.routed.front();
    if (task.is_send || from.node != task.node || topology.has_deferred || !topology.nodes[from.node].joins.empty())
        return false;
    if (!from.routes->sends.empty() || !schedule.sends.empty() || !schedule.activeJoins().empty()) return false;
    if (schedule.has_input != (task.node == topology.start)) return false;
    // A node that was deferred when this was stored may no longer be deferred.
    for (const NodeIndex node : schedule.activeEdges()) {
        if (schedule.edge(node).state != EdgeState::fired) return false;
    }
    noteRan(schedule, by.consumed);
    schedule.has_input = false;
    schedule.input.clear();
    schedule.fireOnly(topology.nodes[from.node].edges, from.routes->to, ++schedule.version);
    return true;
}

[[gnu::noinline]] void advanceSeveral(const Topology& topology, Schedule& schedule, const Advance& by) {
    noteRan(schedule, by.consumed);
    consume(topology, schedule, by.consumed);
    if (by.is_step) dropFired(schedule);

    const std::uint64_t version = ++schedule.version;
    bool fired = false;  // whether something is due now, so that deferred nodes keep waiting
    const auto fire = [&](NodeIndex node) {
        if (topology.nodes[node].deferred) {
            schedule.setEdge(node, EdgeState::waiting, version);
        } else {
            schedule.setEdge(node, EdgeState::fired, version);
            fired = true;
        }
    };
    for (const Routed& from : by.routed) {
        if (from.routes != nullptr) {
            for (const NodeIndex node : from.routes->to) fire(node);
            for (PendingSend& send : from.routes->sends) schedule.sends.push_back(std::move(send));
        }
        if (from.node == no_node) continue;
        const Node& node = topology.nodes[from.node];
        for (const NodeIndex target : node.edges) fire(target);
        for (const JoinSlot slot : node.joins) {
            if (schedule.arrive(topology, slot, version)) fired = fired || schedule.isDue(topology, slot.join);
        }
    }
    if (by.input != nullptr) {
        schedule.input = std::move(*by.input);
        schedule.has_input = true;
        schedule.input_version = version;
        fired = true;
    }
    schedule.tidy();
    if (by.is_step && !fired && schedule.sends.empty()) {
        releaseDeferred(topology, schedule, version);
        schedule.tidy();
    }
}

}  // namespace

void advance(const Topology& topology, Schedule& schedule, const Advance& by) {
    if (!advanceAlone(topology, schedule, by)) advanceSeveral(topology, schedule, by);
}

}  // namespace stategraph::engine
