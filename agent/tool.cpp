#include <stategraph/agent/tool.hpp>

#include <map>
#include <utility>

#include <stategraph/error.hpp>

namespace stategraph::agent {

void ToolContext::write(const Value& progress) const {
    const std::map<std::string, Value> told{
        {"call_id", Value(call_.id)}, {"tool", Value(call_.name)}, {"progress", progress}};
    runtime_.write(Value(told));
}

bool ApprovalRule::operator()(const Value& arguments) const noexcept {
    try {
        return needs_ && needs_(arguments);
    } catch (...) {
        return true;
    }
}

Tool detail::describedTool(std::string name, ToolOptions&& options, std::string parameters) {
    Tool made;
    made.description = {std::move(name), std::move(options.description), std::move(parameters)};
    if (made.description.parameters.empty()) made.description.parameters = model::ToolDescription().parameters;
    made.approval = std::move(options.approval);
    made.on_doubt = options.on_doubt;
    made.check = std::move(options.check);
    made.timeout = options.timeout;
    made.retry = std::move(options.retry);
    made.on_failure = options.on_failure;
    made.cache = std::move(options.cache);
    made.result_max = options.result_max;
    made.to_model = std::move(options.to_model);
    made.files_max = options.files_max;
    made.description.extra = std::move(options.extra);
    return made;
}

model::ToolOutput detail::readToolOutput(Value returned) {
    try {
        return returned.as<model::ToolOutput>();
    } catch (const WrongTypeError&) {
        return {.output = std::move(returned)};
    }
}

Tool providerTool(std::string name, std::string declaration) {
    Tool made = detail::describedTool(std::move(name), {}, {});
    made.description.provider = declaration.empty() ? "null" : std::move(declaration);
    return made;
}

}  // namespace stategraph::agent
