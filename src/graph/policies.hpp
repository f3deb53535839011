#pragma once
#include <string>
#include <vector>

#include <stategraph/detail/graph_builder.hpp>

#include "src/graph/topology.hpp"

// Finds the policies of nodes (retries, caching, error handlers), which are their own or their graph's defaults.
namespace stategraph::engine {

const RetryPolicy& retryOf(const detail::NodeSpec& node, const detail::GraphSpec& graph) noexcept;
const CachePolicy& cacheOf(const detail::NodeSpec& node, const detail::GraphSpec& graph) noexcept;
/// Returns null if nothing handles the node's failures.
const detail::HandlerSpec* handlerOf(const detail::NodeSpec& node, const detail::GraphSpec& graph) noexcept;

/// Returns what is wrong with a policy, and with the policies that it contains. `where`, such as "retry.", is put
/// before the name of a field.
std::vector<std::string> faultsOf(const RetryPolicy& retry, const std::string& where);

/// Returns whether a callable that takes this input can get it from what the node takes.
bool takesInputOf(const detail::NodeSpec& node, const detail::InputType& input) noexcept;

/// Assigns policies to the nodes of a checked graph. Call it after the fingerprint is known.
void addPolicies(Topology& topology, const detail::GraphSpec& graph);

}  // namespace stategraph::engine
