#pragma once
#include <map>
#include <memory>
#include <string>

#include <boost/json.hpp>

#include <stategraph/compiled_graph.hpp>
#include <stategraph/json.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/store.hpp>

#include "tests/langgraph/described_steps.hpp"

// Graphs that are described as JSON (tests/langgraph/recorded/README.md, "A graph").
namespace described {

using App = sg::CompiledGraph<sg::JsonState>;

/// What described graphs are compiled with.
struct Surroundings {
    std::shared_ptr<sg::BaseCheckpointSaver> saver = {};  // null: none, and questions cannot be asked
    std::shared_ptr<sg::BaseStore> store = {};            // for graphs with a step store_put
    int slower = 1;                                       // sleeps last so many times as long as described
};

/// Builds one graph. Nodes that read `$config` or `$context` need a RequestContext. Messages are written as they are
/// described: members that LangChain adds, such as `additional_kwargs`, are added by what serves them. Errors:
/// std::runtime_error for words that are not known, InvalidGraphError.
App build(const json::value& graph, const Surroundings& surroundings);

/// Builds all graphs of an object like that of tests/langgraph/recorded/graphs.json.
std::map<std::string, App> buildAll(const json::object& graphs, const Surroundings& surroundings);

}  // namespace described
