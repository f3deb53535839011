#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/command.hpp>

#include "src/superstep/schedule.hpp"

// Graphs that consist only of nodes, edges and joins, and a schedule that the test advances by hand.
namespace schedules {

namespace engine = stategraph::engine;
using Strings = std::vector<std::string>;

struct Sketch {
    Strings nodes;
    std::vector<std::pair<std::string, std::string>> edges = {};
    std::vector<std::pair<Strings, std::string>> joins = {};
    std::set<std::string> deferred = {};
};

inline engine::Topology draw(Sketch sketch) {
    engine::Topology topology;
    sketch.nodes.emplace_back(stategraph::START);
    std::sort(sketch.nodes.begin(), sketch.nodes.end());
    const auto place = [&](const std::string& name) {
        const auto found = std::find(sketch.nodes.begin(), sketch.nodes.end(), name);
        return static_cast<engine::NodeIndex>(found - sketch.nodes.begin());
    };
    for (const auto& name : sketch.nodes) {
        engine::Node& node = topology.nodes.emplace_back();
        node.name = name;
        node.deferred = sketch.deferred.count(name) > 0;
    }
    topology.start = place(stategraph::START);
    for (const auto& [from, to] : sketch.edges) topology.nodes[place(from)].edges.push_back(place(to));
    for (const auto& [sources, target] : sketch.joins) {
        std::string key = "join:";
        engine::Join join{{}, {}, place(target), sketch.deferred.count(target) > 0};
        for (const auto& source : sources) {
            key += (join.sources.empty() ? "" : "+") + source;
            join.sources.push_back(place(source));
        }
        join.key = key + ":" + target;
        topology.joins.push_back(std::move(join));
    }
    std::sort(topology.joins.begin(), topology.joins.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    for (engine::JoinIndex i = 0; i < topology.joins.size(); ++i) {
        for (std::uint32_t p = 0; p < topology.joins[i].sources.size(); ++p) {
            topology.nodes[topology.joins[i].sources[p]].joins.push_back({i, p});
        }
    }
    topology.index();
    return topology;
}

/// Where a task leads besides its node's edges.
struct Go {
    Strings to = {};
    Strings sends = {};
};

/// A schedule over a sketch. Tasks are written as "a", sends as "a#0".
class Walk {
public:
    explicit Walk(Sketch sketch) : topology_(draw(std::move(sketch))) { schedule_.reset(topology_); }

    const engine::Topology& topology() const noexcept { return topology_; }
    engine::Schedule& schedule() noexcept { return schedule_; }

    Strings due() {
        engine::plan(topology_, schedule_, plan_);
        Strings names;
        for (const auto& task : plan_) names.push_back(nameOf(task));
        return names;
    }
    /// An input from outside, which abandons everything that is due.
    Strings input() {
        engine::plan(topology_, schedule_, plan_);
        stategraph::detail::Writes writes;
        engine::advance(topology_, schedule_,
                        {.consumed = plan_, .routed = {}, .is_step = !plan_.empty(), .input = &writes});
        return due();
    }
    /// Runs everything that is due and returns what is due afterwards.
    Strings step(const std::map<std::string, Go>& going = {}) {
        engine::plan(topology_, schedule_, plan_);
        std::vector<engine::Routes> routes(plan_.size());
        std::vector<engine::Routed> routed;
        for (std::size_t i = 0; i < plan_.size(); ++i) {
            if (const auto found = going.find(nameOf(plan_[i])); found != going.end()) fill(routes[i], found->second);
            routed.push_back({plan_[i].node, &routes[i]});
        }
        engine::advance(topology_, schedule_, {.consumed = plan_, .routed = routed, .is_step = true});
        return due();
    }
    /// A Command from outside, which consumes nothing.
    Strings command(const Go& go) {
        engine::Routes routes;
        fill(routes, go);
        const engine::Routed routed{engine::no_node, &routes};
        engine::advance(topology_, schedule_, {.consumed = {}, .routed = {&routed, 1}});
        return due();
    }
    /// "nobody", "several" or the name of a node.
    std::string lastRan() const {
        switch (schedule_.last.kind) {
            case engine::LastRan::Kind::nobody:
                return "nobody";
            case engine::LastRan::Kind::several:
                return "several";
            case engine::LastRan::Kind::one:
                break;
        }
        return topology_.nodes[schedule_.last.node].name;
    }

private:
    std::string nameOf(const engine::PlannedTask& task) const {
        return topology_.nodes[task.node].name + (task.is_send ? "#" + std::to_string(task.send) : "");
    }
    void fill(engine::Routes& routes, const Go& go) const {
        for (const auto& name : go.to) routes.to.push_back(topology_.find(name));
        for (const auto& name : go.sends) routes.sends.push_back({topology_.find(name), {}, {}});
    }

    engine::Topology topology_;
    engine::Schedule schedule_;
    std::vector<engine::PlannedTask> plan_;
};

}  // namespace schedules
