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

}  // namespace stategraph::langgraph
