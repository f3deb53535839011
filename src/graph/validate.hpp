#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/graph_builder.hpp>

namespace stategraph::engine {

/// Every fault of a graph, each a sentence with the names it is about; none if the graph can be compiled.
std::vector<std::string> validate(const detail::GraphSpec& graph, const detail::CompileSpec& options);

/// Whether the edge is a join: it may have one source alone.
inline bool isJoin(const detail::EdgeSpec& edge) noexcept { return edge.join || edge.from.size() > 1; }

/// The sources of a join, each once, in the order given.
std::vector<std::string_view> distinctSources(const detail::EdgeSpec& join);

/// "join:a+b:c", by which the log knows the join.
std::string joinKey(const detail::EdgeSpec& join);

}  // namespace stategraph::engine
