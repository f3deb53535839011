#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>

#include <stategraph/detail/json_reading.hpp>
#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "langgraph/assistants.hpp"
#include "langgraph/service.hpp"

// The JSON Schemas of a graph.
namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

/// What a channel of JSON holds, as far as its reducer says.
json::object channelSchema(const DescribedChannel& channel) {
    json::object schema;
    const std::string_view reducer = channel.reducer;
    if (reducer == "append" || channel.kind == "topic") schema["type"] = "array";
    if (reducer == "sum" || reducer == "min" || reducer == "max") schema["type"] = "number";
    if (reducer == "merge") schema["type"] = "object";
    return schema;
}

json::object propertiesOf(const GraphDescription& graph) {
    json::object properties;
    for (const DescribedChannel& each : graph.channels) properties[each.name] = channelSchema(each);
    return properties;
}

/// The schema of a state, with a word at channels of messages by which clients know a conversation.
json::object shownSchema(const std::string& schema, const GraphDescription& graph) {
    const json::value read = stategraph::detail::readJson(schema, 64).value;
    json::object shown = read.is_object() ? read.get_object() : json::object();
    if (!shown.contains("properties")) shown = {{"type", "object"}, {"properties", propertiesOf(graph)}};
    json::object& properties = shown["properties"].as_object();
    for (const DescribedChannel& each : graph.channels) {
        json::value* const property = each.reducer == "messages" ? properties.if_contains(each.name) : nullptr;
        if (property == nullptr || !property->is_object()) continue;
        property->get_object()["langgraph_type"] = "messages";
    }
    return shown;
}

/// The graphs directly inside another one.
void addSubgraphs(const MessageChannels& graphs, const GraphDescription& outer, const std::string& ns, bool recurses,
                  json::object& all) {
    for (const DescribedNode& node : outer.nodes) {
        if (!node.subgraph) continue;
        const auto inner = std::ranges::find(graphs.descriptions(), *node.subgraph, &GraphDescription::fingerprint);
        if (inner == graphs.descriptions().end()) continue;
        const json::object state = shownSchema("{}", *inner);
        const std::string name = ns + node.name;
        json::object shown{{"graph_id", node.name}};
        // Servers call them by two names.
        for (const char* const word : {"state", "input", "output"}) {
            shown[word] = state;
            shown[std::string(word) + "_schema"] = state;
        }
        all[name] = std::move(shown);
        if (recurses) addSubgraphs(graphs, *inner, name + "|", recurses, all);
    }
}

}  // namespace

detail::AnyGraph::AnyGraph(GraphOptions options) : options_(std::move(options)) {
    if (options_.state_schema.empty()) return;
    const stategraph::detail::JsonRead read = stategraph::detail::readJson(options_.state_schema, 64);
    const json::object* const schema = read.error ? nullptr : read.value.if_object();
    const json::value* const properties = schema != nullptr ? schema->if_contains("properties") : nullptr;
    if (properties == nullptr || !properties->is_object())
        throw InvalidArgumentError("GraphOptions::state_schema must be a JSON object with an object \"properties\"");
}

json::object subgraphsJson(const ServedGraph& graph, const std::string& only, bool recurses) {
    json::object all;
    addSubgraphs(graph.channels, graph.channels.description(), {}, recurses || !only.empty(), all);
    if (only.empty()) return all;
    json::object some;
    for (const auto& each : all) {
        const std::string_view name = each.key();
        const bool is_inside = recurses && name.starts_with(only + "|");
        if (name == only || is_inside) some[name] = each.value();
    }
    return some;
}

json::object schemasJson(const ServedGraph& graph) {
    const GraphDescription& described = graph.channels.description();
    json::object state = shownSchema(graph.graph->stateSchema(), described);
    return {{"graph_id", graph.id},
            {"input_schema", shownSchema(graph.graph->inputSchema(), described)},
            {"output_schema", state},
            {"state_schema", std::move(state)}};
}

}  // namespace stategraph::langgraph
