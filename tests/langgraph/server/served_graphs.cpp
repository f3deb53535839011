#include "tests/langgraph/server/served_graphs.hpp"

#include <exception>
#include <optional>
#include <utility>

namespace described {

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
    for (auto& [name, app] : buildAll(graphs, surroundings)) all.emplace(name, sg::langgraph::graph(app, options));
    return all;
}

}  // namespace described
