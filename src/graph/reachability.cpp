#include "src/graph/reachability.hpp"

#include <algorithm>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/reverse_graph.hpp>
#include <boost/graph/strong_components.hpp>

namespace stategraph::engine {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;

template <class G>
std::vector<bool> reachableFrom(const G& graph, std::uint32_t root) {
    std::vector<boost::default_color_type> colors(boost::num_vertices(graph));
    boost::breadth_first_search(
        graph, root,
        boost::color_map(boost::make_iterator_property_map(colors.begin(), boost::get(boost::vertex_index, graph))));
    std::vector<bool> reached(colors.size());
    for (std::size_t i = 0; i < colors.size(); ++i) reached[i] = colors[i] != boost::white_color;
    return reached;
}

}  // namespace

Reachability analyse(std::uint32_t vertices, std::span<const Arc> arcs, std::span<const std::uint32_t> roots,
                     std::span<const std::uint32_t> exits) {
    // With one vertex before all roots and one after all exits, a single search answers each question.
    const std::uint32_t root = vertices;
    const std::uint32_t exit = vertices + 1;
    Graph graph(vertices + 2U);
    std::vector<bool> in_cycle(vertices + 2U);
    for (const Arc& arc : arcs) {
        boost::add_edge(arc.from, arc.to, graph);
        if (arc.from == arc.to) in_cycle[arc.from] = true;
    }
    for (const auto each : roots) boost::add_edge(root, each, graph);
    for (const auto each : exits) boost::add_edge(each, exit, graph);

    Reachability result;
    result.from_roots = reachableFrom(graph, root);
    result.to_exits = reachableFrom(boost::make_reverse_graph(graph), exit);

    std::vector<std::uint32_t> component(vertices + 2U);
    const auto count = boost::strong_components(
        graph, boost::make_iterator_property_map(component.begin(), boost::get(boost::vertex_index, graph)));
    std::vector<std::vector<std::uint32_t>> knots(count);
    for (std::uint32_t v = 0; v < vertices; ++v) {
        if (!result.to_exits[v]) knots[component[v]].push_back(v);
    }
    for (auto& knot : knots) {
        if (knot.size() > 1 || (knot.size() == 1 && in_cycle[knot.front()]))
            result.dead_cycles.push_back(std::move(knot));
    }
    std::ranges::sort(result.dead_cycles);
    result.from_roots.resize(vertices);
    result.to_exits.resize(vertices);
    return result;
}

}  // namespace stategraph::engine
