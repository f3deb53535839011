#pragma once
#include <string>

#include "langgraph/call.hpp"
#include "langgraph/records.hpp"

namespace stategraph::langgraph {

/// The assistant that an id, or the id of a graph, names. Errors: NotFound, also for another user's.
AssistantRecord findAssistant(const Call& call, const std::string& id);
/// The drawing and the schemas of a graph.
boost::json::object drawingJson(const MessageChannels& graphs, std::size_t depth);
boost::json::object schemasJson(const ServedGraph& graph);
/// The schemas of the graphs inside it, by the names of their nodes; with `recurses` also of those inside these, as
/// "node|node". `only`: of this one alone; empty: of all.
boost::json::object subgraphsJson(const ServedGraph& graph, const std::string& only, bool recurses);

}  // namespace stategraph::langgraph
