#pragma once
#include <string>
#include <string_view>

#include "src/graph/topology.hpp"

namespace stategraph::engine {

/// Adds a key to a namespace. Separators and characters that cannot be seen become %XX.
void appendNamespaceKey(std::string& ns, std::string_view key);
/// The key that was added.
std::string namespaceKey(std::string_view escaped);
/// Returns whether it is the log of a graph that a node calls ("node:task:key"), or a log below it.
bool isOfCall(std::string_view checkpoint_ns) noexcept;

/// Finds the subgraph that has the log with this namespace. Errors: InvalidArgumentError if there is none.
const detail::Core& resolveNamespace(const detail::Core& root, std::string_view checkpoint_ns);

}  // namespace stategraph::engine
