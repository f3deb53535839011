#include "src/commit/restore.hpp"

#include <algorithm>

#include <stategraph/error.hpp>

#include "src/superstep/routes.hpp"

namespace stategraph::engine {
namespace {

// Returns the name of a node in the log, for messages. Another node may have that name now.
std::string loggedNode(const Topology& topology, std::string_view name) {
    std::string text = "node '" + std::string(name) + "'";
    const NodeIndex namesake = topology.find(name);
    if (namesake != no_node)
        text +=
            " (of the log: the graph's node of that name is stored as '" + topology.nodes[namesake].stored_name + "')";
    return text;
}

// Finds a node of the log that is about to run.
NodeIndex findDue(const Topology& topology, std::string_view name, const checkpoint::Folded& from, GoneNodes gone) {
    const NodeIndex node = topology.findStored(name);
    if (gone == GoneNodes::skip) return node;
    const ErrorContext context{.checkpoint_id = from.commit.id.toString(),
                               .node = std::string(topology.shownName(name))};
    if (node == no_node) {
        throw InvalidArgumentError(loggedNode(topology, name) +
                                       " is due, and this graph has no such node: add it again, say what was renamed "
                                       "(NodeOptions::stored_as), or edit the thread's state as another node",
                                   context);
    }
    return node;
}

// Does the same for a node that an edge, a join or a goto triggered.
NodeIndex findFired(const Topology& topology, std::string_view name, const checkpoint::Folded& from, GoneNodes gone) {
    const NodeIndex node = findDue(topology, name, from, gone);
    if (node == no_node || !topology.nodes[node].payload_only) return node;
    if (gone == GoneNodes::skip) return no_node;
    throw InvalidArgumentError(
        "node '" + topology.nodes[node].name +
            "' is due with the state, and takes a payload now: let it take the state, or edit the thread's state as "
            "another node",
        {.checkpoint_id = from.commit.id.toString(), .node = topology.nodes[node].name});
}

// Splits "join:a+b:c" into its parts. A node's name has no ':'.
std::string_view targetOf(std::string_view join_key) { return join_key.substr(join_key.rfind(':') + 1); }

// Returns whether all sources of a stored join had arrived.
bool wasFull(const checkpoint::FoldedJoin& join) {
    std::string key = "join:";
    for (const auto source : join.arrived) {
        if (key.size() > 5) key += '+';
        key += source;
    }
    return key + ':' + std::string(targetOf(join.key)) == join.key;
}

void arriveAt(const Topology& topology, JoinIndex index, const checkpoint::FoldedJoin& join, Schedule& schedule) {
    const auto& sources = topology.joins[index].sources;
    for (const auto source : join.arrived) {
        const auto place = std::find(sources.begin(), sources.end(), topology.findStored(source));
        if (place == sources.end()) continue;
        schedule.arrive(topology, {index, static_cast<std::uint32_t>(place - sources.begin())},
                        versionOfStep(join.step));
    }
}

// If the graph no longer has a join, its arrivals move to the only join into the same node that waits for one of the
// same sources and that the checkpoint does not know. Returns that join, or no_node if there is none.
JoinIndex successorOf(const Topology& topology, const checkpoint::Folded& from, const checkpoint::FoldedJoin& gone) {
    const NodeIndex target = topology.findStored(targetOf(gone.key));
    JoinIndex found = no_node;
    for (JoinIndex index = 0; index < topology.joins.size() && target != no_node; ++index) {
        const Join& join = topology.joins[index];
        if (join.target != target) continue;
        const bool is_stored = std::any_of(from.joins.begin(), from.joins.end(),
                                           [&](const auto& stored) { return stored.key == join.key; });
        const bool waits = std::any_of(gone.arrived.begin(), gone.arrived.end(), [&](std::string_view source) {
            const NodeIndex node = topology.findStored(source);
            return node != no_node && std::find(join.sources.begin(), join.sources.end(), node) != join.sources.end();
        });
        if (is_stored || !waits) continue;
        if (found != no_node) return no_node;
        found = index;
    }
    return found;
}

// Returns true if the log's joins differ from those of the schedule.
bool restoreJoins(const Topology& topology, const checkpoint::Folded& from, Schedule& schedule) {
    bool differs = false;
    const auto& commit = from.commit;
    for (const auto& join : from.joins) {
        if (const JoinIndex index = topology.findJoin(join.key); index != no_node) {
            arriveAt(topology, index, join, schedule);
            continue;
        }
        // A join that has fired already is spent: its target is in "next".
        const bool is_released = std::any_of(from.deferred.begin(), from.deferred.end(), [&](const auto& deferral) {
            return deferral.key == join.key && deferral.state == checkpoint::Deferral::released;
        });
        const bool is_due = std::find(commit.next.begin(), commit.next.end(), targetOf(join.key)) != commit.next.end();
        const bool is_spent = is_due && (is_released || wasFull(join));
        const JoinIndex index = is_spent ? no_node : successorOf(topology, from, join);
        if (index != no_node) arriveAt(topology, index, join, schedule);
        // If the log kept these arrivals, they would count again after the new join has fired.
        differs = differs || is_spent || index != no_node;
    }
    return differs;
}

// Keeps a task due even if the join or release that made it due no longer exists in the graph.
void keepDue(const Topology& topology, const checkpoint::Folded& from, GoneNodes gone, Schedule& schedule) {
    if (from.commit.next.empty()) return;
    std::vector<PlannedTask> tasks;
    schedule.tidy();
    plan(topology, schedule, tasks);
    const auto sends = std::find_if(tasks.begin(), tasks.end(), [](const PlannedTask& task) { return task.is_send; });
    const auto isTriggered = [&, sends](NodeIndex node) {  // those that no Send created come first, by node
        const auto at = std::lower_bound(tasks.begin(), sends, node,
                                         [](const PlannedTask& task, NodeIndex wanted) { return task.node < wanted; });
        return at != sends && at->node == node;
    };
    for (const auto name : from.commit.next) {
        const NodeIndex node = findFired(topology, name, from, gone);
        if (node == no_node) continue;
        if (isTriggered(node)) continue;
        bool released = false;  // true if its node has become a deferred one
        for (const JoinIndex join : schedule.activeJoins()) {
            if (topology.joins[join].target != node || !schedule.isFull(topology, join)) continue;
            schedule.releaseJoin(join, schedule.version);
            released = true;
        }
        if (!released) schedule.setEdge(node, EdgeState::fired, schedule.version);
    }
}

}  // namespace

void restoreState(const checkpoint::Folded& from, State& state) {
    std::vector<checkpoint::ChannelPieces> channels;
    channels.reserve(from.channels.size());
    for (const auto& stored : from.channels) channels.push_back({stored.name, stored.pieces});
    restoreState(channels, from.commit.id, state);
}

void loadChannel(const detail::ChannelSpec& channel, std::span<const checkpoint::LogPiece> pieces, CheckpointId id,
                 State& state) {
    try {
        channel.behaviour->load(channel, state.value(channel), pieces);
    } catch (const WrongTypeError& error) {
        throw CorruptCheckpointError(
            "channel '" + channel.name + "' is stored as another type than it has now: " + error.message() +
                "; resume with a program in which it has the stored type, or fork a checkpoint from before that value "
                "was stored (stategraph/fork.hpp)",
            {.checkpoint_id = id.toString(), .channel = channel.name});
    }
    state.setPresent(channel.index, true);
}

void restoreState(std::span<const checkpoint::ChannelPieces> channels, CheckpointId id, State& state) {
    state.reset();
    forEachStored(channels, state.schema(), [&](const detail::ChannelSpec& channel, const auto& stored) {
        loadChannel(channel, stored.pieces, id, state);
    });
}

const detail::ChannelSpec* findStored(std::span<const checkpoint::ChannelPieces> channels, std::string_view name,
                                      const detail::Schema& schema) {
    const detail::ChannelSpec* channel = schema.find(name);
    if (channel == nullptr || !isStored(channel->kind)) return nullptr;
    if (name == channel->name) return channel;
    const auto at = std::lower_bound(
        channels.begin(), channels.end(), std::string_view(channel->name),
        [](const checkpoint::ChannelPieces& each, std::string_view wanted) { return each.name < wanted; });
    const bool has_current = at != channels.end() && at->name == channel->name;
    return has_current ? nullptr : channel;  // the current name wins
}

void applyCommand(detail::Writes& writes, State& state) {
    WriteSet set;
    set.add(state.schema(), writes, "a Command");
    set.close(state.schema());
    applyWrites(state, set, {}, nullptr);
}

bool isOfVisit(const checkpoint::CommitFields& inner, std::string_view outer_ns, CheckpointId outer) {
    const auto& parents = inner.parents;
    return std::any_of(parents.begin(), parents.end(),
                       [&](const auto& each) { return each.checkpoint_ns == outer_ns && each.id == outer; });
}

// Returns a version before all triggers of what is due. Where the commit is a fork or an edit, a join or a release may
// be older than it; but each is newer than what ran last.
static std::uint64_t beforeDue(const Topology& topology, const Schedule& schedule) {
    std::uint64_t first = schedule.version;
    for (const JoinIndex join : schedule.activeJoins()) {
        if (schedule.isDue(topology, join)) first = std::min(first, schedule.join(join).version);
    }
    for (const NodeIndex node : schedule.activeEdges()) {
        if (schedule.edge(node).state == EdgeState::released) first = std::min(first, schedule.edge(node).version);
    }
    return first - 1;
}

bool restoreSchedule(const Topology& topology, const detail::Schema& schema, const checkpoint::Folded& from,
                     Schedule& schedule, GoneNodes gone) {
    const auto& commit = from.commit;
    schedule.reset(topology);
    schedule.version = versionOfStep(commit.step);
    for (const auto name : commit.edges ? *commit.edges : commit.next) {
        const NodeIndex node = findFired(topology, name, from, gone);
        if (node != no_node) schedule.setEdge(node, EdgeState::fired, schedule.version);
    }
    const bool differs = restoreJoins(topology, from, schedule);
    for (const auto& deferral : from.deferred) {
        const bool released = deferral.state == checkpoint::Deferral::released;
        if (deferral.key.starts_with("join:")) {
            const JoinIndex join = topology.findJoin(deferral.key);
            if (released && join != no_node) schedule.releaseJoin(join, versionOfStep(deferral.step));
        } else if (const NodeIndex node = findFired(topology, deferral.key, from, gone); node != no_node) {
            schedule.setEdge(node, released ? EdgeState::released : EdgeState::waiting, versionOfStep(deferral.step));
        }
    }
    for (const auto& send : commit.sends) {
        const NodeIndex node = findDue(topology, send.node, from, gone);
        if (node != no_node) schedule.sends.push_back({node, {}, std::string(send.payload)});
    }
    if (commit.input) {
        try {
            readWritesInto(schema, *commit.input, schedule.input);
        } catch (const Error&) {
            if (gone == GoneNodes::refuse) throw;
            schedule.input.clear();  // about to be dropped
        }
        schedule.has_input = true;
        schedule.input_version = schedule.version;
    }
    keepDue(topology, from, gone, schedule);
    for (const auto& visit : from.visits) schedule.restoreVisit(visit.log, visit.id);
    schedule.knows_all_visits = from.has_all_visits;
    schedule.last.version = std::min(schedule.version - 2, beforeDue(topology, schedule));
    switch (from.ran.kind) {
        case checkpoint::FoldedRan::Kind::nobody:
            break;
        case checkpoint::FoldedRan::Kind::several:
            schedule.last.kind = LastRan::Kind::several;
            break;
        case checkpoint::FoldedRan::Kind::one:
            schedule.last.kind = LastRan::Kind::one;
            schedule.last.node = topology.findStored(from.ran.node);
            if (schedule.last.node == no_node) schedule.last.kind = LastRan::Kind::several;
            break;
    }
    schedule.tidy();
    schedule.forgetChanges();
    return differs;
}

void restoreResult(const Topology& topology, const detail::Schema& schema, const checkpoint::TaskFields& record,
                   detail::Writes& writes, Routes& routes, GoneNodes gone) {
    if (record.writes) readWritesInto(schema, *record.writes, writes);
    const auto find = [&](std::string_view name, bool is_send) {
        const NodeIndex node = topology.findStored(name);
        const bool is_reachable = node != no_node && (is_send || !topology.nodes[node].payload_only);
        if (is_reachable) return node;
        if (gone == GoneNodes::skip) return no_node;
        throw InvalidArgumentError(
            "what was already done in the unfinished superstep leads to " + loggedNode(topology, name) +
                (node == no_node ? ", which this graph does not have: add it again, or say what was renamed "
                                   "(NodeOptions::stored_as)"
                                 : ", which takes a payload now: let it take the state"),
            {.node = std::string(topology.shownName(name))});
    };
    for (const auto name : record.to) {
        if (const NodeIndex node = find(name, false); node != no_node) routes.to.push_back(node);
    }
    for (const auto& send : record.sends) {
        if (const NodeIndex node = find(send.node, true); node != no_node)
            routes.sends.push_back({node, {}, std::string(send.payload)});
    }
}

detail::AnyValue restorePayload(const Node& node, std::string_view stored) {
    const detail::ValueOps* type = payloadOf(node);
    if (type == nullptr)
        throw InvalidUpdateError("node '" + node.name + "' is due with a payload, and takes none now",
                                 {.node = node.name});
    std::shared_ptr<void> place(type->allocate(), [type](void* p) { type->deallocate(p); });
    Decoder in(stored);
    try {
        type->decode(in, place.get());
    } catch (const WrongTypeError& error) {
        throw WrongTypeError(
            "the stored payload for node '" + node.name + "' is not what it takes now: " + error.message(),
            {.node = node.name});
    }
    // The value is destroyed before its place.
    std::shared_ptr<const void> value(
        place.get(), [place, destroy = type->destroy](const void* p) { destroy(const_cast<void*>(p)); });
    return {*type, std::move(value)};
}

void readWritesInto(const detail::Schema& schema, std::string_view cbor, detail::Writes& writes) {
    for (const auto& stored : checkpoint::readWrites(cbor)) {
        const detail::ChannelSpec* channel = schema.find(stored.channel);
        if (channel == nullptr) {
            throw InvalidUpdateError("a stored write is to channel '" + std::string(stored.channel) +
                                         "', which the graph does not have any more",
                                     {.channel = std::string(stored.channel)});
        }
        try {
            Decoder in(stored.value);
            channel->behaviour->decodeWrite(*channel, stored.kind, in, writes);
        } catch (const WrongTypeError& error) {
            throw CorruptCheckpointError("a stored write to channel '" + channel->name +
                                             "' is of another type than it has now: " + error.message(),
                                         {.channel = channel->name});
        }
    }
}

}  // namespace stategraph::engine
