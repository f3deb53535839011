#pragma once
#include <string>
#include <vector>

#include <stategraph/detail/graph_builder.hpp>

namespace stategraph::engine {

/// Returns every fault of a graph as a sentence with the names that it is about, or none if the graph can be compiled.
std::vector<std::string> validate(const detail::GraphSpec& graph, const CompileOptions& options);

}  // namespace stategraph::engine
