#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/value_ops.hpp>

#include "src/graph/topology.hpp"

// The state of edges, joins and Sends between two supersteps, which decides which tasks are due. All of it is in the
// log.
namespace stategraph::engine {

/// A future task that a Send requested. The payload is a value, or the bytes that were stored.
struct PendingSend {
    NodeIndex node = no_node;
    detail::AnyValue payload;
    std::string stored;  // CBOR; empty if there is a value
};

struct JoinState {
    std::vector<std::uint64_t> arrived;  // bits by the place among the sources
    std::uint32_t count = 0;
    bool released = false;  // a deferred one: everything else is done
    std::uint64_t version = 0;
};

enum class EdgeState : std::uint8_t { idle, fired, waiting, released };  // the last two: edges to deferred nodes

struct EdgeTrigger {
    EdgeState state = EdgeState::idle;
    std::uint64_t version = 0;
};

/// The node that ran last, for updates without `as_node`: the one with the newest trigger.
struct LastRan {
    enum class Kind : std::uint8_t { nobody, several, one } kind = Kind::nobody;
    NodeIndex node = no_node;
    std::uint64_t version = 0;
};

/// Versions are one counter of the whole schedule: what changed together has the same version.
class Schedule {
public:
    /// Resets the schedule for a graph, and keeps the memory.
    void reset(const Topology& topology);

    std::uint64_t version = 0;
    /// Input that the start node has yet to take; valid while `has_input`.
    bool has_input = false;
    std::uint64_t input_version = 0;
    detail::Writes input;
    std::vector<PendingSend> sends;
    LastRan last;

    const EdgeTrigger& edge(NodeIndex node) const noexcept { return edges_[node]; }
    const JoinState& join(JoinIndex join) const noexcept { return joins_[join]; }
    /// Nodes with an edge that is not idle, and joins with an arrival; in ascending order after `plan` or `advance`.
    const std::vector<NodeIndex>& activeEdges() const noexcept { return active_edges_; }
    const std::vector<JoinIndex>& activeJoins() const noexcept { return active_joins_; }

    void setEdge(NodeIndex node, EdgeState state, std::uint64_t at_version);
    /// Every edge falls idle but those to these two lists' nodes, none of which is deferred.
    void fireOnly(std::span<const NodeIndex> nodes, std::span<const NodeIndex> more, std::uint64_t at_version);
    /// False if that source had arrived already.
    bool arrive(const Topology& topology, JoinSlot slot, std::uint64_t at_version);
    void releaseJoin(JoinIndex join, std::uint64_t at_version);
    void resetJoin(JoinIndex join);
    /// Whether every source has arrived (and, deferred, it was released): its target is due.
    bool isFull(const Topology& topology, JoinIndex join) const noexcept {
        return joins_[join].count == topology.joins[join].sources.size();
    }
    bool isDue(const Topology& topology, JoinIndex join) const noexcept {
        return isFull(topology, join) && (joins_[join].released || !topology.joins[join].deferred);
    }
    /// Forgets edges that became idle and joins that emptied, and sorts the rest.
    void tidy();

    /// Joins and edges to deferred nodes that changed since `forgetChanges`; sorted and without repetition after
    /// `tidy`.
    const std::vector<JoinIndex>& changedJoins() const noexcept { return changed_joins_; }
    const std::vector<NodeIndex>& changedDeferred() const noexcept { return changed_deferred_; }
    void forgetChanges() noexcept {
        changed_joins_.clear();
        changed_deferred_.clear();
        if (visits_changed_) forgetVisitChanges();
    }

    /// Where a log that lives with the thread, of one of the graph's subgraphs, is on this branch: what its next visit
    /// begins with.
    struct LastVisit {
        std::string log;  // what its namespace adds to the graph's
        CheckpointId at;
        bool is_changed = false;  // since `forgetChanges`
    };
    /// In the order of CBOR.
    const std::vector<LastVisit>& visits() const noexcept { return visits_; }
    /// None: it was never visited on this branch.
    CheckpointId lastVisit(std::string_view log) const noexcept;
    void setVisit(std::string_view log, CheckpointId at);
    void restoreVisit(std::string_view log, CheckpointId at);
    void forgetVisits() noexcept;
    /// Whether `visits` has all; else an earlier version of the library stored some of the branch, which did not say.
    bool knows_all_visits = true;
    /// Marks them as complete, which the next commit stores.
    void tellAllVisits() noexcept { knows_all_visits = tells_all_visits_ = visits_changed_ = true; }
    bool tellsAllVisits() const noexcept { return tells_all_visits_; }

    /// What it keeps for the next run.
    std::size_t roomBytes() const noexcept {
        return visits_.capacity() * sizeof(LastVisit) + sends.capacity() * sizeof(PendingSend) +
               edges_.capacity() * sizeof(EdgeTrigger) + joins_.capacity() * sizeof(JoinState) +
               (active_edges_.capacity() + changed_deferred_.capacity()) * sizeof(NodeIndex) +
               (active_joins_.capacity() + changed_joins_.capacity()) * sizeof(JoinIndex);
    }

private:
    void forgetVisitChanges() noexcept;
    std::vector<LastVisit>::iterator placeOf(std::string_view log) noexcept;

    std::vector<LastVisit> visits_;
    bool visits_changed_ = false;
    bool tells_all_visits_ = false;
    std::vector<EdgeTrigger> edges_;  // by node
    std::vector<JoinState> joins_;    // by join
    std::vector<NodeIndex> active_edges_;
    std::vector<JoinIndex> active_joins_;
    std::vector<JoinIndex> changed_joins_;
    std::vector<NodeIndex> changed_deferred_;
};

/// One task of a superstep.
struct PlannedTask {
    NodeIndex node = no_node;
    bool is_send = false;
    std::uint32_t send = 0;     // its place in Schedule::sends
    std::uint64_t version = 0;  // of its newest trigger

    bool operator==(const PlannedTask&) const = default;
};

/// The tasks that are due: triggered nodes by name, then sends in order. Their writes are applied in this order too.
void plan(const Topology& topology, const Schedule& schedule, std::vector<PlannedTask>& tasks);

/// Where a finished task leads in addition to its node's static edges.
struct Routes {
    std::vector<NodeIndex> to;
    std::vector<PendingSend> sends;

    bool empty() const noexcept { return to.empty() && sends.empty(); }
    void clear() noexcept {
        to.clear();
        sends.clear();
    }
};

/// A node whose routing takes effect: a finished task's, or the one in whose name state is edited. `node` may be
/// no_node: routes alone.
struct Routed {
    NodeIndex node = no_node;
    Routes* routes = nullptr;  // its sends are moved from
};

/// The events between two states of a schedule.
struct Advance {
    /// Tasks whose triggers are spent, in planned order.
    std::span<const PlannedTask> consumed = {};
    /// What fires next, in order.
    std::span<const Routed> routed = {};
    /// Whether this ends a superstep: edges that were due and did not fire again fall idle, and where nothing is due
    /// any more deferred nodes are released.
    bool is_step = false;
    /// New input for the start node; moved from.
    detail::Writes* input = nullptr;
};

void advance(const Topology& topology, Schedule& schedule, const Advance& by);

}  // namespace stategraph::engine
