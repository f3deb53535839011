#include "src/commit/restore.hpp"

#include <algorithm>

#include <stategraph/error.hpp>

namespace stategraph::engine {
namespace {

[[noreturn]] void missing(std::string_view node, const checkpoint::Folded& from) {
    throw InvalidArgumentError("node '" + std::string(node) + "' is due, and this graph has no such node: add it again, or edit the "
                               "thread's state as another node",
                               {.checkpoint_id = from.commit.id.toString(), .node = std::string(node)});
}

}  // namespace

void restoreState(const checkpoint::Folded& from, State& state) {
    state.reset();
    for (const auto& stored : from.channels) {
        const detail::ChannelSpec* channel = state.schema().find(stored.name);
        if (channel == nullptr || channel->kind == detail::ChannelKind::untracked) continue;
        if (stored.name != channel->name && from.find(channel->name) != nullptr) continue;  // the current name wins
        try {
            channel->behaviour->load(*channel, state.value(*channel), stored.pieces);
        } catch (const WrongTypeError& error) {
            throw CorruptCheckpointError("channel '" + channel->name + "' is stored as another type than it has now: " +
                                             error.message(),
                                         {.checkpoint_id = from.commit.id.toString(), .channel = channel->name});
        }
        state.setPresent(channel->index, true);
    }
}

void restoreSchedule(const Topology& topology, const detail::Schema& schema, const checkpoint::Folded& from, Schedule& schedule,
                     GoneNodes gone) {
    const auto& commit = from.commit;
    const auto find = [&](std::string_view name) {
        const NodeIndex node = topology.find(name);
        if (node == no_node && gone == GoneNodes::refuse) missing(name, from);
        return node;
    };
    schedule.reset(topology);
    schedule.version = versionOfStep(commit.step);
    for (const auto name : commit.edges ? *commit.edges : commit.next) {
        if (const NodeIndex node = find(name); node != no_node) schedule.setEdge(node, EdgeState::fired, schedule.version);
    }
    for (const auto& join : from.joins) {
        const JoinIndex index = topology.findJoin(join.key);
        if (index == no_node) continue;  // the edge is gone, and nothing waits for it any more
        for (const auto source : join.arrived) {
            const NodeIndex node = topology.find(source);
            const auto& sources = topology.joins[index].sources;
            const auto place = std::find(sources.begin(), sources.end(), node);
            if (place == sources.end()) continue;
            schedule.arrive(topology, {index, static_cast<std::uint32_t>(place - sources.begin())}, versionOfStep(join.step));
        }
    }
    for (const auto& deferral : from.deferred) {
        const bool released = deferral.state == checkpoint::Deferral::released;
        if (const JoinIndex join = topology.findJoin(deferral.key); join != no_node) {
            if (released) schedule.releaseJoin(join, versionOfStep(deferral.step));
        } else if (const NodeIndex node = find(deferral.key); node != no_node) {
            schedule.setEdge(node, released ? EdgeState::released : EdgeState::waiting, versionOfStep(deferral.step));
        }
    }
    for (const auto& send : commit.sends) {
        if (const NodeIndex node = find(send.node); node != no_node) schedule.sends.push_back({node, {}, std::string(send.payload)});
    }
    if (commit.input) {
        readWritesInto(schema, *commit.input, schedule.input);
        schedule.has_input = true;
        schedule.input_version = schedule.version;
    }
    schedule.last.version = schedule.version - 2;
    switch (from.ran.kind) {
        case checkpoint::FoldedRan::Kind::nobody: break;
        case checkpoint::FoldedRan::Kind::several: schedule.last.kind = LastRan::Kind::several; break;
        case checkpoint::FoldedRan::Kind::one:
            schedule.last.kind = LastRan::Kind::one;
            schedule.last.node = topology.find(from.ran.node);
            if (schedule.last.node == no_node) schedule.last.kind = LastRan::Kind::several;
            break;
    }
    schedule.tidy();
    schedule.forgetChanges();
    // What is due besides edges, and that the graph no longer has a join or an edge for.
    for (const auto name : commit.next) find(name);
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
            throw CorruptCheckpointError("a stored write to channel '" + channel->name + "' is of another type than it has now: " +
                                             error.message(),
                                         {.channel = channel->name});
        }
    }
}

}  // namespace stategraph::engine
