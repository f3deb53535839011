#include "src/superstep/schedule.hpp"

#include <algorithm>

#include <stategraph/detail/table.hpp>

namespace stategraph::engine {

void Schedule::reset(const Topology& topology) {
    version = 0;
    has_input = false;
    input.clear();
    sends.clear();
    last = {};
    for (const NodeIndex node : active_edges_) {
        if (node < edges_.size()) edges_[node] = {};
    }
    for (const JoinIndex join : active_joins_) {
        if (join < joins_.size()) resetJoin(join);
    }
    active_edges_.clear();
    active_joins_.clear();
    forgetVisits();
    forgetChanges();
    edges_.resize(topology.nodes.size());
    joins_.resize(topology.joins.size());
}

std::vector<Schedule::LastVisit>::iterator Schedule::placeOf(std::string_view log) noexcept {
    return std::lower_bound(visits_.begin(), visits_.end(), log, [](const LastVisit& each, std::string_view wanted) {
        return detail::storedBefore(each.log, wanted);
    });
}

CheckpointId Schedule::lastVisit(std::string_view log) const noexcept {
    const auto found = const_cast<Schedule*>(this)->placeOf(log);
    return found != visits_.end() && found->log == log ? found->at : CheckpointId();
}

void Schedule::setVisit(std::string_view log, CheckpointId at) {
    auto place = placeOf(log);
    if (place == visits_.end() || place->log != log) place = visits_.insert(place, {std::string(log), {}});
    if (place->at == at) return;
    place->at = at;
    place->is_changed = true;
    visits_changed_ = true;
}

void Schedule::restoreVisit(std::string_view log, CheckpointId at) { visits_.push_back({std::string(log), at}); }

void Schedule::forgetVisits() noexcept {
    visits_.clear();
    knows_all_visits = true;
    tells_all_visits_ = visits_changed_ = false;
}

void Schedule::forgetVisitChanges() noexcept {
    for (LastVisit& visit : visits_) visit.is_changed = false;
    visits_changed_ = false;
    tells_all_visits_ = false;
}

void Schedule::setEdge(NodeIndex node, EdgeState state, std::uint64_t at_version) {
    EdgeTrigger& edge = edges_[node];
    const auto isDeferred = [](EdgeState s) { return s == EdgeState::waiting || s == EdgeState::released; };
    if (isDeferred(edge.state) || isDeferred(state)) changed_deferred_.push_back(node);
    if (edge.state == EdgeState::idle && state != EdgeState::idle) active_edges_.push_back(node);
    edge = {state, at_version};
}

bool Schedule::arrive(const Topology& topology, JoinSlot slot, std::uint64_t at_version) {
    JoinState& state = joins_[slot.join];
    const std::size_t words = (topology.joins[slot.join].sources.size() + 63) / 64;
    if (state.arrived.size() != words) state.arrived.resize(words);
    std::uint64_t& word = state.arrived[slot.place >> 6U];
    const std::uint64_t bit = std::uint64_t{1} << (slot.place & 63U);
    if ((word & bit) != 0) return false;
    word |= bit;
    if (state.count++ == 0) active_joins_.push_back(slot.join);
    state.version = at_version;
    changed_joins_.push_back(slot.join);
    return true;
}

void Schedule::releaseJoin(JoinIndex join, std::uint64_t at_version) {
    joins_[join].released = true;
    changed_joins_.push_back(join);
    joins_[join].version = at_version;
}

void Schedule::resetJoin(JoinIndex join) {
    JoinState& state = joins_[join];
    std::fill(state.arrived.begin(), state.arrived.end(), 0);
    state.count = 0;
    state.released = false;
    state.version = 0;
    changed_joins_.push_back(join);
}

void Schedule::tidy() {
    const auto sortUnique = [](std::vector<std::uint32_t>& indexes) {
        if (indexes.size() < 2) return;
        if (!std::is_sorted(indexes.begin(), indexes.end())) std::sort(indexes.begin(), indexes.end());
        indexes.erase(std::unique(indexes.begin(), indexes.end()), indexes.end());
    };
    std::erase_if(active_edges_, [this](NodeIndex node) { return edges_[node].state == EdgeState::idle; });
    std::erase_if(active_joins_, [this](JoinIndex join) { return joins_[join].count == 0; });
    sortUnique(active_edges_);
    sortUnique(active_joins_);
    sortUnique(changed_joins_);
    sortUnique(changed_deferred_);
}

}  // namespace stategraph::engine
