#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>

#include <stategraph/detail/json_reading.hpp>
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

}  // namespace

json::object schemasJson(const ServedGraph& graph) {
    const GraphDescription& described = graph.channels.description();
    json::object state = shownSchema(graph.graph->stateSchema(), described);
    return {{"graph_id", graph.id},
            {"input_schema", shownSchema(graph.graph->inputSchema(), described)},
            {"output_schema", state},
            {"state_schema", std::move(state)}};
}

}  // namespace stategraph::langgraph
