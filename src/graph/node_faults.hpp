#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include <stategraph/detail/graph_builder.hpp>

namespace stategraph::engine {

/// Returns the faults of one node by itself, each as a sentence. It checks the node's name, what it executes, its
/// limits, its retry policies and its cache.
std::vector<std::string> nodeFaults(const detail::GraphSpec& graph, std::size_t index);

}  // namespace stategraph::engine
