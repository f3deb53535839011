#include "src/commit/schedule_fields.hpp"

#include <algorithm>
#include <vector>

#include "src/commit/task_record.hpp"
#include "src/superstep/apply.hpp"

namespace stategraph::engine {
namespace {

using checkpoint::CommitFields;
using checkpoint::Deferral;
using detail::ChannelSpec;

void addNext(const Topology& topology, const Schedule& schedule, std::span<const PlannedTask> next,
             CommitFields& fields) {
    bool all_by_edge = true;
    for (const PlannedTask& task : next) {
        if (task.is_send || task.node == topology.start) continue;
        fields.next.push_back(topology.nodes[task.node].stored_name);
        all_by_edge = all_by_edge && schedule.edge(task.node).state == EdgeState::fired;
    }
    if (all_by_edge) return;
    fields.edges.emplace();
    for (const NodeIndex node : schedule.activeEdges()) {
        if (schedule.edge(node).state == EdgeState::fired) fields.edges->push_back(topology.nodes[node].stored_name);
    }
}

void addJoins(const Topology& topology, const Schedule& schedule, bool everything, CommitFields& fields) {
    for (const JoinIndex index : everything ? schedule.activeJoins() : schedule.changedJoins()) {
        const Join& join = topology.joins[index];
        const JoinState& state = schedule.join(index);
        checkpoint::LoggedJoin logged{join.key, {}};
        for (std::size_t place = 0; place < join.sources.size(); ++place) {
            const std::size_t word = place >> 6U;
            if (word < state.arrived.size() && (state.arrived[word] >> (place & 63U) & 1U) != 0) {
                logged.arrived.push_back(topology.nodes[join.sources[place]].stored_name);
            }
        }
        fields.joins.push_back(std::move(logged));
        if (!join.deferred) continue;
        if (state.released) {
            fields.deferred.push_back({join.key, Deferral::released});
        } else if (!everything && state.count == 0) {
            fields.deferred.push_back({join.key, Deferral::gone});
        }
    }
}

void addDeferredNodes(const Topology& topology, const Schedule& schedule, bool everything, CommitFields& fields) {
    for (const NodeIndex node : everything ? schedule.activeEdges() : schedule.changedDeferred()) {
        const EdgeState state = schedule.edge(node).state;
        if (state == EdgeState::fired) continue;
        const auto& name = topology.nodes[node].stored_name;
        if (state == EdgeState::idle) {
            if (!everything) fields.deferred.push_back({name, Deferral::gone});
        } else {
            fields.deferred.push_back({name, state == EdgeState::released ? Deferral::released : Deferral::waiting});
        }
    }
}

void encodeInput(const detail::Schema& schema, Schedule& schedule, Encoder& encoder) {
    std::size_t count = 0;
    for (const detail::Op& op : schedule.input) count += isStored(schema.channel(op.channel).kind);
    encoder.array(count);
    for (const detail::Op& op : schedule.input) {
        const ChannelSpec& channel = schema.channel(op.channel);
        if (isStored(channel.kind)) detail::encodeWrite(channel, op, encoder);
    }
}

}  // namespace

void ScheduleFields::start() noexcept {
    logged_last_ = {};
    first_commit_ = true;
}

void ScheduleFields::freeAbove(std::size_t bytes) noexcept {
    if (roomBytes() <= bytes) return;
    std::string().swap(payloads_);
    std::vector<std::size_t>().swap(payload_ends_);
}

void ScheduleFields::fill(const Topology& topology, const detail::Schema& schema, Schedule& schedule,
                          std::span<const PlannedTask> next, bool everything, CommitFields& fields) {
    fields.next.clear();
    fields.edges.reset();
    fields.joins.clear();
    fields.deferred.clear();
    fields.sends.clear();
    fields.input.reset();

    addNext(topology, schedule, next, fields);
    addJoins(topology, schedule, everything, fields);
    addDeferredNodes(topology, schedule, everything, fields);
    const auto by_key = [](const auto& a, const auto& b) { return detail::storedBefore(a.key, b.key); };
    std::sort(fields.joins.begin(), fields.joins.end(), by_key);
    std::sort(fields.deferred.begin(), fields.deferred.end(), by_key);
    addPayloads(topology, schema, schedule, fields);
    addLastRan(topology, schedule.last, everything, fields);
}

// Payloads and input are encoded one after the other. Views into the buffer are taken only when it no longer grows.
void ScheduleFields::addPayloads(const Topology& topology, const detail::Schema& schema, Schedule& schedule,
                                 CommitFields& fields) {
    payloads_.clear();
    Encoder encoder(payloads_);
    payload_ends_.clear();
    for (const PendingSend& send : schedule.sends) {
        encodePayload(topology, send, encoder);
        payload_ends_.push_back(payloads_.size());
    }
    if (schedule.has_input) encodeInput(schema, schedule, encoder);
    std::size_t start = 0;
    for (std::size_t i = 0; i < schedule.sends.size(); ++i) {
        fields.sends.push_back({topology.nodes[schedule.sends[i].node].stored_name,
                                std::string_view(payloads_).substr(start, payload_ends_[i] - start)});
        start = payload_ends_[i];
    }
    if (schedule.has_input) fields.input = std::string_view(payloads_).substr(start);
}

void ScheduleFields::addLastRan(const Topology& topology, const LastRan& last, bool everything, CommitFields& fields) {
    const bool ran_changed = last.kind != logged_last_.kind || last.node != logged_last_.node;
    if (last.kind == LastRan::Kind::nobody || (!ran_changed && !everything && !first_commit_)) {
        fields.ran = {};
    } else if (last.kind == LastRan::Kind::several) {
        fields.ran = {checkpoint::Ran::Kind::several, {}};
    } else {
        fields.ran = {checkpoint::Ran::Kind::one, topology.nodes[last.node].stored_name};
    }
    logged_last_ = last;
}

void ScheduleFields::fillVisits(const Schedule& schedule, bool is_whole, CommitFields& fields) {
    fields.besides.has_all_visits = schedule.knows_all_visits && (is_whole || schedule.tellsAllVisits());
    const bool all = is_whole || fields.besides.has_all_visits;
    for (const auto& visit : schedule.visits()) {
        if (all || visit.is_changed) fields.visits.push_back({visit.log, visit.at});
    }
}

}  // namespace stategraph::engine
