#include "tests/langgraph/server/served_graphs.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace described {
namespace {

/// The schema of a channel of a kind, as the recorded server made it.
json::object channelSchema(const std::string& kind) {
    if (kind == "messages") return {{"description", "A list of chat messages"}};
    json::object schema{{"$schema", "http://json-schema.org/draft-07/schema#"}};
    const std::string type = kind.substr(std::min(kind.find(':'), kind.size() - 1) + 1);
    if (kind == "sum") {
        schema["type"] = "number";
        schema["default"] = 0;
    } else if (kind.starts_with("append:")) {
        schema["type"] = "array";
        schema["default"] = json::array();
        schema["items"] = type == "any" ? json::object() : json::object{{"type", type}};
    } else if (type != "any") {
        schema["type"] = type == "list" ? "array" : type;
    }
    return schema;
}

std::string shownSchema(const json::value& graph) {
    json::object properties;
    for (const auto& channel : graph.at("channels").as_object())
        properties[channel.key()] = channelSchema(json::value_to<std::string>(channel.value()));
    return json::serialize(json::object{{"type", "object"}, {"properties", std::move(properties)}});
}

}  // namespace

std::map<std::string, std::shared_ptr<sg::langgraph::Graph>> served(const json::object& graphs,
                                                                    const Surroundings& surroundings) {
    sg::langgraph::GraphOptions options;
    options.config.max_concurrency = 1;  // tasks of a superstep end in their order, as recorded
    options.prepare = [](const sg::langgraph::RunSettings& settings, sg::RunConfig& config) {
        config.context =
            config.context.with(RequestContext{.configurable = settings.configurable, .context = settings.context});
    };
    options.report_error = [](const std::exception& error) -> std::optional<sg::langgraph::ReportedError> {
        const auto* const named = dynamic_cast<const NamedError*>(&error);
        if (named == nullptr) return {};
        return sg::langgraph::ReportedError{.name = named->name(), .message = named->what()};
    };
    std::map<std::string, std::shared_ptr<sg::langgraph::Graph>> all;
    for (auto& [name, app] : buildAll(graphs, surroundings)) {
        options.state_schema = shownSchema(graphs.at(name));
        all.emplace(name, sg::langgraph::graph(app, options));
    }
    return all;
}

}  // namespace described
