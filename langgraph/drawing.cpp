#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/command.hpp>
#include <stategraph/graph_description.hpp>
#include <stategraph/json.hpp>

#include "langgraph/assistants.hpp"
#include "langgraph/message_channels.hpp"

// Graphs as nodes and edges for clients that draw them.
namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

constexpr const char* schema_word = "https://json-schema.org/draft/2020-12/schema";

struct Edge {
    std::string from;
    std::string to;
    bool is_conditional = false;
    std::string label = {};
};

/// The edges of one graph, in the order of the nodes that they begin at.
std::vector<Edge> edgesOf(const GraphDescription& graph) {
    std::vector<Edge> edges;
    for (const DescribedEdge& each : graph.edges) edges.push_back({each.from, each.to});
    for (const DescribedJoin& join : graph.joins) {
        for (const std::string& from : join.from) edges.push_back({from, join.to});
    }
    std::ranges::stable_sort(edges, {}, &Edge::from);
    for (const DescribedBranch& branch : graph.branches) {
        if (branch.ends) {
            for (const DescribedEnd& end : *branch.ends)
                edges.push_back({branch.from, end.to, true, end.label == end.to ? "" : end.label});
        } else {
            for (const DescribedNode& node : graph.nodes) edges.push_back({branch.from, node.name, true});
        }
    }
    for (const DescribedGoto& jump : graph.gotos) {
        for (const std::string& to : jump.to) edges.push_back({jump.from, to, true});
    }
    return edges;
}

/// Collects the nodes and edges of a graph and of those inside it.
class Drawing {
public:
    explicit Drawing(const MessageChannels& graphs) : graphs_(graphs) {}

    struct Ends {
        std::string first;
        std::string last;
    };

    /// Draws a graph with a prefix before its names. Returns where the edges to it and from it go.
    Ends draw(const GraphDescription& graph, const std::string& prefix, std::size_t depth, bool is_root) {
        const std::vector<Edge> edges = edgesOf(graph);
        const std::string first = is_root ? std::string() : onlyNode(edges, &Edge::from, START, &Edge::to);
        const std::string last = is_root ? std::string() : onlyNode(edges, &Edge::to, END, &Edge::from);
        if (first.empty()) addEnd(prefix + START);
        std::vector<std::pair<std::string, Ends>> inner;  // by the name of its node
        for (const DescribedNode& node : graph.nodes) {
            const GraphDescription* const inside = depth > 0 ? insideOf(node) : nullptr;
            if (inside != nullptr) {
                inner.emplace_back(node.name, draw(*inside, prefix + node.name + ":", depth - 1, false));
            } else {
                addNode(node, prefix);
            }
        }
        if (last.empty()) addEnd(prefix + END);
        const auto found = [&](const std::string& name) {
            return std::ranges::find(inner, name, &std::pair<std::string, Ends>::first);
        };
        for (const Edge& edge : edges) {
            if ((!first.empty() && edge.from == START) || (!last.empty() && edge.to == END)) continue;
            const auto from = found(edge.from);
            const auto to = found(edge.to);
            addEdge(from != inner.end() ? from->second.last : prefix + edge.from,
                    to != inner.end() ? to->second.first : prefix + edge.to, edge);
        }
        const auto firstOf = found(first);
        const auto lastOf = found(last);
        return {firstOf != inner.end() ? firstOf->second.first : prefix + (first.empty() ? START : first),
                lastOf != inner.end() ? lastOf->second.last : prefix + (last.empty() ? END : last)};
    }

    json::object take() && { return {{"nodes", std::move(nodes_)}, {"edges", std::move(edges_)}}; }

private:
    /// The node at the other end of the only edge that has `end` at one side; empty if there are several, or if it
    /// depends.
    static std::string onlyNode(const std::vector<Edge>& edges, std::string Edge::*side, const char* end,
                                std::string Edge::*other) {
        std::string node;
        for (const Edge& edge : edges) {
            if (edge.*side != end) continue;
            if (!node.empty() || edge.is_conditional) return {};
            node = edge.*other;
        }
        return node;
    }

    const GraphDescription* insideOf(const DescribedNode& node) const {
        if (!node.subgraph) return nullptr;
        const auto found = std::ranges::find(graphs_.descriptions(), *node.subgraph, &GraphDescription::fingerprint);
        return found == graphs_.descriptions().end() ? nullptr : &*found;
    }

    void addEnd(const std::string& id) {
        nodes_.push_back({{"id", id}, {"type", "schema"}, {"data", {{"$schema", schema_word}}}});
    }
    void addNode(const DescribedNode& node, const std::string& prefix) {
        json::object data{{"id", json::array{"langgraph", "RunnableCallable"}}, {"name", node.name}};
        if (node.subgraph)
            data = {{"id", json::array{"langgraph", "pregel", "CompiledStateGraph"}}, {"name", "LangGraph"}};
        json::value metadata = toJsonValue(node.metadata);
        if (!metadata.is_object()) metadata = json::object();
        nodes_.push_back({{"id", prefix + node.name},
                          {"type", "runnable"},
                          {"data", std::move(data)},
                          {"metadata", std::move(metadata)}});
    }
    void addEdge(const std::string& from, const std::string& to, const Edge& edge) {
        json::object drawn{{"source", from}, {"target", to}, {"conditional", edge.is_conditional}};
        if (!edge.label.empty()) drawn["data"] = edge.label;
        edges_.push_back(std::move(drawn));
    }

    const MessageChannels& graphs_;
    json::array nodes_;
    json::array edges_;
};

}  // namespace

json::object drawingJson(const MessageChannels& graphs, std::size_t depth) {
    Drawing drawing(graphs);
    (void)drawing.draw(graphs.description(), {}, depth, true);
    return std::move(drawing).take();
}

}  // namespace stategraph::langgraph
