#pragma once
#include <string_view>

#include "src/graph/topology.hpp"

namespace stategraph::engine {

/// A subgraph by the namespace of its log: where it is in the graph. Errors: InvalidArgumentError if there is none.
const detail::Core& resolveNamespace(const detail::Core& root, std::string_view checkpoint_ns);

}  // namespace stategraph::engine
