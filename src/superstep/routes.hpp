#pragma once
#include <string_view>

#include <stategraph/runtime.hpp>

#include "src/superstep/schedule.hpp"

// Turns names into places in the graph, for the decisions of tasks and routers.
namespace stategraph::engine {

/// Returns the type of a node's payload, or null if it takes none.
const detail::ValueOps* payloadOf(const Node& node) noexcept;

/// Resolves where a task wants to go. END leads nowhere. Errors: InvalidUpdateError for a node that does not exist or
/// cannot be reached that way, or a payload of the wrong type, naming `from`.
void resolveTarget(const Topology& topology, const Target& target, std::string_view from, Routes& routes);
void resolveNode(const Topology& topology, std::string_view node, std::string_view from, Routes& routes);
void resolveSend(const Topology& topology, std::string_view node, const detail::AnyValue& payload,
                 std::string_view from, Routes& routes);

/// Calls the routers of a node with the state that includes the node's own writes.
void routeBranches(const Node& node, const Topology& topology, const void* state, Runtime& runtime, Routes& routes);

}  // namespace stategraph::engine
