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
    std::string stored;  // as CBOR; empty if there is a value
};

struct JoinState {
    std::vector<std::uint64_t> arrived;  // one bit for each source, by its place among the sources
    std::uint32_t count = 0;
    bool released = false;  // of a deferred join: whether everything else is done
    std::uint64_t version = 0;
};

// The last two occur only for edges to deferred nodes.
enum class EdgeState : std::uint8_t { idle, fired, waiting, released };

struct EdgeTrigger {
    EdgeState state = EdgeState::idle;
    std::uint64_t version = 0;
};

/// The node that ran last, which is the one with the newest trigger. Updates without `as_node` are made in its name.
struct LastRan {
    enum class Kind : std::uint8_t { nobody, several, one } kind = Kind::nobody;
    NodeIndex node = no_node;
    std::uint64_t version = 0;
};

/// Versions come from one counter of the whole schedule: what changed together has the same version.
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
    /// Return the nodes with an edge that is not idle, and the joins with an arrival. They are in ascending order after
    /// `plan` or `advance`.
    const std::vector<NodeIndex>& activeEdges() const noexcept { return active_edges_; }
    const std::vector<JoinIndex>& activeJoins() const noexcept { return active_joins_; }

    void setEdge(NodeIndex node, EdgeState state, std::uint64_t at_version);
    /// Makes every edge idle except those to the nodes in these two lists, none of which is deferred.
    void fireOnly(std::span<const NodeIndex> nodes, std::span<const NodeIndex> more, std::uint64_t at_version);
    /// Returns false if that source had arrived already.
    bool arrive(const Topology& topology, JoinSlot slot, std::uint64_t at_version);
    void releaseJoin(JoinIndex join, std::uint64_t at_version);
    void resetJoin(JoinIndex join);
    /// Returns whether every source has arrived (and a deferred join was released), so that its target is due.
    bool isFull(const Topology& topology, JoinIndex join) const noexcept {
        return joins_[join].count == topology.joins[join].sources.size();
    }
    bool isDue(const Topology& topology, JoinIndex join) const noexcept {
        return isFull(topology, join) && (joins_[join].released || !topology.joins[join].deferred);
    }
    /// Forgets edges that became idle and joins that emptied, and sorts the rest.
    void tidy();

    /// Return the joins and the edges to deferred nodes that changed since `forgetChanges`. They are sorted and without
    /// repetition after `tidy`.
    const std::vector<JoinIndex>& changedJoins() const noexcept { return changed_joins_; }
    const std::vector<NodeIndex>& changedDeferred() const noexcept { return changed_deferred_; }
    void forgetChanges() noexcept {
        changed_joins_.clear();
        changed_deferred_.clear();
        if (visits_changed_) forgetVisitChanges();
    }

    /// The checkpoint of this branch in a subgraph's log that lives with the thread. Its next visit begins there.
    struct LastVisit {
        std::string log;  // what its namespace adds to the graph's
        CheckpointId at;
        bool is_changed = false;  // whether it has changed since `forgetChanges`
    };
    /// Returns the last visits in the order of CBOR.
    const std::vector<LastVisit>& visits() const noexcept { return visits_; }
    /// Returns none if the log was never visited on this branch.
    CheckpointId lastVisit(std::string_view log) const noexcept;
    void setVisit(std::string_view log, CheckpointId at);
    void restoreVisit(std::string_view log, CheckpointId at);
    void forgetVisits() noexcept;
    /// Whether `visits` is complete. It is not if an earlier version of the library, which did not store visits, stored
    /// some of the branch.
    bool knows_all_visits = true;
    /// Marks the visits as complete, which the next commit stores.
    void tellAllVisits() noexcept { knows_all_visits = tells_all_visits_ = visits_changed_ = true; }
    bool tellsAllVisits() const noexcept { return tells_all_visits_; }

    /// Returns the size of the memory that it keeps for the next run.
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
    std::uint32_t send = 0;     // index in Schedule::sends
    std::uint64_t version = 0;  // of its newest trigger

    bool operator==(const PlannedTask&) const = default;
};

/// Plans the tasks that are due: triggered nodes by name, then sends in order. Their writes are applied in this order
/// too.
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

/// A node whose routing takes effect: that of a finished task, or the one in whose name the state is edited. If `node`
/// is no_node, only the routes count.
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
    /// Whether this ends a superstep. If so, edges that were due and did not fire again become idle, and if nothing is
    /// due any more, deferred nodes are released.
    bool is_step = false;
    /// New input for the start node; it is moved from.
    detail::Writes* input = nullptr;
};

void advance(const Topology& topology, Schedule& schedule, const Advance& by);

}  // namespace stategraph::engine
