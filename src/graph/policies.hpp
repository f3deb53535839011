#pragma once
#include <string>
#include <vector>

#include <stategraph/detail/graph_builder.hpp>

#include "src/graph/topology.hpp"

// The policies of nodes (retries, caching, error handlers): their own, or their graph's defaults.
namespace stategraph::engine {

const RetryPolicy& retryOf(const detail::NodeSpec& node, const detail::GraphSpec& graph) noexcept;
const CachePolicy& cacheOf(const detail::NodeSpec& node, const detail::GraphSpec& graph) noexcept;
/// Null if nothing handles the node's failures.
const detail::HandlerSpec* handlerOf(const detail::NodeSpec& node, const detail::GraphSpec& graph) noexcept;

/// What is wrong with a policy and those that it has besides; a field is named after `where`, "retry.".
std::vector<std::string> faultsOf(const RetryPolicy& retry, const std::string& where);

/// Whether a callable that takes this gets it from what the node takes.
bool takesInputOf(const detail::NodeSpec& node, const detail::InputType& input) noexcept;

/// Assigns policies to the nodes of a checked graph. Call it after the fingerprint is known.
void addPolicies(Topology& topology, const detail::GraphSpec& graph);

}  // namespace stategraph::engine
