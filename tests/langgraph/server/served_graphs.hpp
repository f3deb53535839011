#pragma once
#include <map>
#include <memory>
#include <string>

#include <boost/json.hpp>

#include <stategraph/langgraph/api.hpp>

#include "tests/langgraph/described_graphs.hpp"

// Serves described graphs to clients of LangGraph's server.
namespace described {

/// The graphs as they are served: with what their nodes read of a request, and errors by the names that are described.
std::map<std::string, std::shared_ptr<sg::langgraph::Graph>> served(const json::object& graphs,
                                                                    const Surroundings& surroundings);

}  // namespace described
