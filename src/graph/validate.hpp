#pragma once
#include <string>
#include <vector>

#include <stategraph/detail/graph_builder.hpp>

namespace stategraph::engine {

/// Every fault of a graph, each a sentence with the names it is about; none if the graph can be compiled.
std::vector<std::string> validate(const detail::GraphSpec& graph, const CompileOptions& options);

}  // namespace stategraph::engine
