#include "agent/plan.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include <stategraph/detail/plain_name.hpp>
#include <stategraph/error.hpp>

namespace stategraph::agent::detail {

namespace {

constexpr std::size_t result_max_least = 64;

void checkLimits(const Tool& tool, std::vector<std::string>& faults) {
    const std::string at = "the tool '" + tool.name() + "' ";
    if (tool.isForClient() && (tool.hasOwnNode() || tool.cache)) {
        faults.push_back(at + "is executed by a client, and takes no timeout, retry or cache");
    }
    if (tool.timeout && tool.timeout->count() < 1) faults.push_back(at + "has a timeout of less than 1 ms");
    if (tool.cache && tool.cache->ttl && tool.cache->ttl->count() < 1)
        faults.push_back(at + "has a cache.ttl of less than 1 ms");
    if (tool.result_max < result_max_least) {
        faults.push_back(at + "has a result_max of " + std::to_string(tool.result_max) + " bytes; at least " +
                         std::to_string(result_max_least) + " are needed");
    }
}

bool isObject(const Value& value) noexcept {
    return !value.bytes().empty() && (static_cast<unsigned char>(value.bytes().front()) >> 5U) == 5;
}

void checkDeclaration(const Tool& tool, std::vector<std::string>& faults) {
    const std::string at = "the tool '" + tool.name() + "' is executed by the provider, and ";
    if (tool.call || tool.async_call || tool.hasOwnNode() || tool.cache)
        faults.push_back(at + "takes no function, timeout, retry or cache");
    try {
        const Value declaration = parseJson(tool.description.provider);
        if (!isObject(declaration)) throw InvalidArgumentError("it is not an object");
        const auto members = declaration.as<std::map<std::string, Value>>();
        const auto name = members.find("name");
        if (members.contains("type") && name != members.end() && name->second != Value(tool.name()))
            faults.push_back(at + "its declaration has the name " + name->second.toJson() + "; give both the same");
    } catch (const Error& why) {
        faults.push_back(at + "its declaration is not a JSON object: " + why.message());
    }
}

void checkTool(const Tool& tool, std::vector<std::string>& names, std::vector<std::string>& faults) {
    const std::string& name = tool.name();
    if (!stategraph::detail::isPlainName(name)) {
        faults.push_back("the tool '" + name + "' needs a name of 1 to 64 letters, digits, '_' and '-'");
    } else if (std::find(names.begin(), names.end(), name) != names.end()) {
        faults.push_back("two tools are called '" + name + "'; give each its own name");
    }
    try {
        if (!isObject(parseJson(tool.description.parameters))) throw InvalidArgumentError("it is not an object");
    } catch (const Error& why) {
        faults.push_back("the parameters of the tool '" + name + "' are not a JSON Schema: " + why.message());
    }
    checkLimits(tool, faults);
    if (tool.isForProvider()) checkDeclaration(tool, faults);
    names.push_back(name);
}

void checkMiddleware(const std::vector<Middleware>& middleware, std::vector<std::string>& faults) {
    for (std::size_t i = 0; i < middleware.size(); ++i) {
        const Middleware& each = middleware[i];
        const std::string at = "the middleware '" + each.name + "' ";
        if (!stategraph::detail::isPlainName(each.name))
            faults.push_back(at + "needs a name of 1 to 64 letters, digits, '_' and '-'");
        const auto before = std::span(middleware).first(i);
        if (std::ranges::find(before, each.name, &Middleware::name) != before.end())
            faults.push_back("two middlewares are called '" + each.name + "'; give each its own name");
        if (!each.before_model && !each.around_model && !each.after_model && !each.around_tool)
            faults.push_back(at + "has no function; set one of its hooks");
    }
}

}  // namespace

Plan::Plan(Options given) : options(std::move(given)), inbox(options.compile.checkpointer) {
    std::vector<std::string> faults;
    if (!options.model) faults.emplace_back("the agent has no model; set Options::model");
    if (options.tool_concurrency < 1) {
        faults.push_back("tool_concurrency is " + std::to_string(options.tool_concurrency) +
                         ", and must be at least 1");
    }
    for (const Tool& tool : options.tools) checkTool(tool, names, faults);
    checkMiddleware(options.middleware, faults);
    for (const StopCondition& condition : options.stop_when) {
        if (!condition) faults.emplace_back("a condition of stop_when is empty");
    }
    if (options.output && !options.output->read)
        faults.emplace_back("Options::output cannot read; make it with agent::output<T>()");
    if (!faults.empty()) throw InvalidGraphError(std::move(faults));
    if (options.stop_when.empty()) options.stop_when.push_back(stepCountIs(5));
    descriptions.reserve(options.tools.size());
    for (const Tool& tool : options.tools) descriptions.push_back(tool.description);
}

const Tool* Plan::find(std::string_view tool) const noexcept {
    for (const Tool& each : options.tools) {
        if (each.name() == tool) return &each;
    }
    return nullptr;
}

bool Plan::needsApproval(const Tool& tool, const Value& arguments, const RunApproval& run) const noexcept {
    if (run.all || std::find(run.tools.begin(), run.tools.end(), tool.name()) != run.tools.end()) return true;
    try {
        if (options.approval && options.approval(tool.name(), arguments)) return true;
    } catch (...) {
        return true;
    }
    return tool.approval(arguments);
}

}  // namespace stategraph::agent::detail
