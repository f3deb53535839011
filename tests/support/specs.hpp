#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/codec_std.hpp>
#include <stategraph/detail/graph_builder.hpp>
#include <stategraph/detail/state_schema.hpp>
#include <stategraph/update.hpp>

// Graphs as the plain data of the builder, made by hand.
namespace specs {

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};

    static constexpr auto channels() {
        return sg::channels(sg::channel("foo", &State::foo), sg::channel("bar", &State::bar, sg::append));
    }
};

template <class In = State>
sg::detail::NodeAction action() {
    return sg::detail::makeNode<State, In>([](const In&) -> sg::Update<State> { return {}; });
}

inline sg::detail::RouterAction router() {
    sg::detail::RouterAction action;
    action.call = [](const void*, const void*, sg::Runtime&, sg::detail::RouteSink&) {};
    return action;
}

template <class In = State>
sg::detail::NodeSpec node(std::string name) {
    sg::detail::NodeSpec spec;
    spec.name = std::move(name);
    spec.action = action<In>();
    return spec;
}

/// A graph of `S` with a node for each name.
template <class S = State>
sg::detail::GraphSpec graph(const std::vector<std::string>& nodes = {}) {
    sg::detail::GraphSpec spec;
    spec.state = &sg::detail::schemaOf<S>();
    for (const auto& channel : spec.state->channels()) {
        spec.input.push_back(channel.index);
        spec.output.push_back(channel.index);
    }
    for (const auto& name : nodes) spec.nodes.push_back(node(name));
    return spec;
}

inline void edge(sg::detail::GraphSpec& graph, std::string from, std::string to) {
    graph.edges.push_back({.from = {std::move(from)}, .join = false, .to = std::move(to)});
}

/// Adds an edge from each name to the next one.
inline void path(sg::detail::GraphSpec& graph, const std::vector<std::string>& names) {
    for (std::size_t i = 1; i < names.size(); ++i) edge(graph, names[i - 1], names[i]);
}

inline void join(sg::detail::GraphSpec& graph, std::vector<std::string> from, std::string to) {
    graph.edges.push_back({.from = std::move(from), .join = true, .to = std::move(to)});
}

using Ends = std::vector<std::pair<std::string, std::string>>;

inline void branch(sg::detail::GraphSpec& graph, std::string from, std::optional<Ends> ends = {}) {
    graph.branches.push_back({.from = std::move(from), .router = router(), .ends = std::move(ends)});
}

}  // namespace specs
