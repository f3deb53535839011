#pragma once
#include <string>
#include <string_view>

#include "src/graph/topology.hpp"

namespace stategraph::engine {

/// Adds a key to a namespace: %XX for what separates or cannot be seen.
void appendNamespaceKey(std::string& ns, std::string_view key);
/// The key that was added.
std::string namespaceKey(std::string_view escaped);
/// Whether it is the log of a graph that a node calls ("node:task:key"), or one below it.
bool isOfCall(std::string_view checkpoint_ns) noexcept;

/// A subgraph by the namespace of its log: where it is in the graph. Errors: InvalidArgumentError if there is none.
const detail::Core& resolveNamespace(const detail::Core& root, std::string_view checkpoint_ns);

}  // namespace stategraph::engine
