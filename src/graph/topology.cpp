#include "src/graph/topology.hpp"

#include <algorithm>
#include <map>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stategraph/command.hpp>
#include <stategraph/error.hpp>

#include "src/graph/core.hpp"
#include "src/graph/join_names.hpp"
#include "src/graph/policies.hpp"
#include "src/graph/sharing.hpp"
#include "src/graph/validate.hpp"

namespace stategraph::engine {
namespace {

Node makeNode(const detail::NodeSpec& spec, const detail::Schema& state) {
    Node node;
    node.name = spec.name;
    node.stored_name = spec.storedName();
    node.action = spec.action;
    InputMatch input = matchInput(spec, state);
    node.projects = input.kind == InputKind::part;
    node.payload_only = input.kind == InputKind::payload || input.kind == InputKind::no_part;
    node.projection = std::move(input.shared);
    if (spec.subgraph) {
        SubgraphMatch match = matchSubgraph(*spec.subgraph, state);
        node.subgraph = Subgraph{.spec = *spec.subgraph, .in = std::move(match.in), .out = std::move(match.out)};
    }
    node.deferred = spec.defer;
    node.limits = {spec.timeout, spec.idle_timeout};
    if (spec.max_concurrency) node.seats = static_cast<std::size_t>(*spec.max_concurrency);
    node.metadata = spec.metadata;
    return node;
}

void addNodes(Topology& topology, const detail::GraphSpec& graph) {
    topology.nodes.reserve(graph.nodes.size() + 1);
    Node& start = topology.nodes.emplace_back();
    start.name = start.stored_name = START;
    for (const auto& spec : graph.nodes) topology.nodes.push_back(makeNode(spec, *graph.state));
    std::ranges::sort(topology.nodes, {}, &Node::stored_name);
}

void addEdges(Topology& topology, const detail::GraphSpec& graph) {
    std::map<std::string, const detail::EdgeSpec*> joins;
    const StoredNames stored(graph);
    for (const auto& edge : graph.edges) {
        if (edge.to == END) continue;
        if (isJoin(edge)) {
            joins.emplace(joinKey(edge, stored), &edge);
            continue;
        }
        auto& targets = topology.nodes[topology.find(edge.from.front())].edges;
        const NodeIndex target = topology.find(edge.to);
        if (std::ranges::find(targets, target) == targets.end()) targets.push_back(target);
    }
    for (const auto& [key, edge] : joins) {
        const auto index = static_cast<JoinIndex>(topology.joins.size());
        Join& join = topology.joins.emplace_back();
        join.key = key;
        join.target = topology.find(edge->to);
        join.deferred = topology.nodes[join.target].deferred;
        for (const auto source : distinctSources(*edge)) {
            const NodeIndex node = topology.find(source);
            topology.nodes[node].joins.push_back(
                {.join = index, .place = static_cast<std::uint32_t>(join.sources.size())});
            join.sources.push_back(node);
        }
    }
}

void addBranches(Topology& topology, const detail::GraphSpec& graph) {
    for (const auto& spec : graph.branches) {
        Branch& branch = topology.nodes[topology.find(spec.from)].branches.emplace_back();
        branch.router = spec.router;
        branch.has_ends = spec.ends.has_value();
        if (!spec.ends) continue;
        for (const auto& [label, target] : *spec.ends) {
            // `find` does not find END, because END is not among the nodes.
            std::pair<std::string, NodeIndex> end{label, topology.find(target)};
            if (std::ranges::find(branch.ends, end) == branch.ends.end()) branch.ends.push_back(std::move(end));
        }
    }
}

// Writes the meaning of a graph as unambiguous text.
class FingerprintText {
public:
    void add(char what, std::string_view name) {
        text_ += what;
        text_ += std::to_string(name.size());
        text_ += ':';
        text_ += name;
    }
    std::uint64_t hash() const { return XXH3_64bits(text_.data(), text_.size()); }

private:
    std::string text_;
};

std::uint64_t fingerprintOf(const Topology& topology) {
    FingerprintText text;
    for (const Node& node : topology.nodes) {
        text.add(node.deferred ? 'D' : 'N', node.stored_name);
        auto edges = node.edges;
        std::ranges::sort(edges);
        for (const auto target : edges) text.add('E', topology.nodes[target].stored_name);
        for (const Branch& branch : node.branches) {
            text.add('B', branch.has_ends ? "ends" : "any");
            auto ends = branch.ends;
            for (auto& [label, target] : ends) {
                // An end without a label of its own is labelled with its node's name.
                if (target != no_node && label == topology.nodes[target].name)
                    label = topology.nodes[target].stored_name;
            }
            std::ranges::sort(ends);
            for (const auto& [label, target] : ends) {
                text.add('L', label);
                text.add('T', target == no_node ? END : std::string_view(topology.nodes[target].stored_name));
            }
        }
    }
    for (const Join& join : topology.joins) text.add('J', join.key);
    return text.hash();
}

}  // namespace

void Topology::index() {
    by_name_.clear();
    by_stored_name_.clear();
    joins_by_key_.clear();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        by_name_.emplace(nodes[i].name, static_cast<NodeIndex>(i));
        by_stored_name_.emplace(nodes[i].stored_name, static_cast<NodeIndex>(i));
    }
    for (std::size_t i = 0; i < joins.size(); ++i) joins_by_key_.emplace(joins[i].key, static_cast<JoinIndex>(i));
    start = find(START);
    has_deferred = std::ranges::any_of(nodes, &Node::deferred);
    has_limits = std::ranges::any_of(nodes, [](const Node& node) { return node.limits.any(); });
    has_seats = std::ranges::any_of(nodes, [](const Node& node) { return node.seats > 0; });
    has_lasting = std::ranges::any_of(
        nodes, [](const Node& node) { return node.subgraph && livesWithThread(*node.subgraph->spec.core); });
    has_keys = std::ranges::any_of(nodes, hasKeys);
}

Topology buildTopology(const detail::GraphSpec& graph, const CompileOptions& options) {
    auto faults = validate(graph, options);
    if (!faults.empty()) throw InvalidGraphError(std::move(faults));
    Topology topology;
    addNodes(topology, graph);
    topology.index();
    addEdges(topology, graph);
    addBranches(topology, graph);
    topology.index();
    topology.fingerprint = fingerprintOf(topology);
    addPolicies(topology, graph);
    return topology;
}

}  // namespace stategraph::engine
