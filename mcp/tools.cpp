#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/control.hpp>
#include <stategraph/detail/json_reading.hpp>
#include <stategraph/detail/plain_name.hpp>
#include <stategraph/error.hpp>
#include <stategraph/mcp/client.hpp>
#if STATEGRAPH_HAS_SCHEMA
#include <stategraph/schema.hpp>
#endif

// A server's tools as tools of agents.
namespace stategraph::mcp {

namespace {

/// A call of a tool of an agent.
struct AgentCall {
    Client client;
    std::string name;
    std::optional<std::chrono::milliseconds> timeout;
};

Value reported(const Progress& progress) {
    std::map<std::string, Value> members{{"progress", Value(progress.progress)}};
    if (progress.total) members.emplace("total", Value(*progress.total));
    if (!progress.message.empty()) members.emplace("message", Value(progress.message));
    return Value(members);
}

/// Returns what the model receives of a result with pictures, sounds or files, and an empty list for one of texts.
std::vector<model::Part> contentOf(const CallResult& result) {
    std::vector<model::Part> content;
    bool has_file = false;
    bool has_text = false;
    for (const Content& part : result.content) {
        const bool is_file = !part.data.empty();
        has_file = has_file || is_file;
        has_text = has_text || !is_file;
        if (is_file) {
            const char* const otherwise = part.type == "image" ? "image/png" : "application/octet-stream";
            content.emplace_back(
                model::File{.media_type = part.media_type.empty() ? otherwise : part.media_type, .data = part.data});
        } else {
            content.emplace_back(model::Text{CallResult{{part}, {}}.text()});
        }
    }
    if (!has_file) return {};
    if (!has_text && !result.structured.isNull())
        content.insert(content.begin(), model::Text{result.structured.toJson()});
    return content;
}

/// It has everything that it uses in its frame, except for the context, which its caller keeps.
Task<Value> callForAgent(std::shared_ptr<const AgentCall> call, Value arguments, agent::ToolContext& context) {
    CallOptions options;
    options.timeout = call->timeout;
    options.stop = stopToken(context.runtime());
    options.on_progress = [&context](const Progress& progress) { context.write(reported(progress)); };
    Task<CallResult> called = call->client.asyncCallTool(call->name, std::move(arguments), std::move(options));
    const CallResult result = co_await std::move(called);
    if (result.is_error) {
        const std::string text = result.text();
        throw McpError(Failure::tool, text.empty() ? result.output().toJson() : text);
    }
    Value output = result.output();
    std::vector<model::Part> content = contentOf(result);
    // A result that looks like one with content must not be read as one.
    const bool is_plain = content.empty() && agent::detail::readToolOutput(output) == model::ToolOutput{output, {}};
    if (is_plain) co_return output;
    co_return Value(model::ToolOutput{std::move(output), std::move(content)});
}

bool isForObjects(const std::string& schema) {
    const boost::json::value read = stategraph::detail::readJson(schema, schema.size()).value;
    const boost::json::object* const object = read.if_object();
    const boost::json::value* const type = object != nullptr ? object->if_contains("type") : nullptr;
    return object != nullptr && (type == nullptr || *type == "object");
}

/// Takes the server's schema, and has arguments checked by it. A tool whose schema cannot be used refuses each call, so
/// that the server's other tools can be used, and models are shown no schema, because providers refuse a request in
/// which one is wrong.
void addSchema(agent::Tool& tool, const ToolInfo& info, const ToolsOptions& options) {
    tool.description.parameters = info.input_schema;
    try {
        if (!isForObjects(info.input_schema)) throw InvalidArgumentError("it is not a schema of objects");
#if STATEGRAPH_HAS_SCHEMA
        if (options.check_arguments) tool.check = schemaCheck(info.input_schema);
#else
        (void)options;
#endif
    } catch (const Error& error) {
        tool.description.parameters = R"({"type":"object"})";
        const std::string why = "the MCP tool '" + info.name + "' cannot be called, because its JSON Schema cannot " +
                                "be used: " + error.message();
        tool.check = [why](const Value&) -> Value { throw InvalidArgumentError(why); };
    }
}

agent::ApprovalRule approvalOf(const ToolInfo& info, const ToolsOptions& options) {
    if (info.destructive == true) return true;
    if (info.read_only == true && options.trust_read_only) return {};
    return options.approval;
}

/// The name for models, which accept fewer characters than the protocol.
std::string shownName(const ToolInfo& info, const ToolsOptions& options) {
    std::string name = options.prefix + info.name;
    for (char& c : name) {
        if (!stategraph::detail::isPlainName({&c, 1})) c = '_';
    }
    if (!stategraph::detail::isPlainName(name)) {
        throw InvalidArgumentError("the MCP tool '" + info.name + "' would be called '" + name +
                                   "', and a name may have 64 characters; shorten ToolsOptions::prefix, or leave the "
                                   "tool out with ToolsOptions::only");
    }
    return name;
}

std::vector<ToolInfo> wanted(std::vector<ToolInfo> all, const std::vector<std::string>& only) {
    if (only.empty()) return all;
    std::vector<ToolInfo> kept;
    for (const std::string& name : only) {
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const ToolInfo& info) { return info.name == name; });
        if (found == all.end()) {
            std::string names;
            for (const ToolInfo& info : all) names += (names.empty() ? "" : ", ") + info.name;
            throw InvalidArgumentError("ToolsOptions::only names the tool '" + name +
                                       "', which the MCP server does not have; it has: " + names);
        }
        kept.push_back(*found);
    }
    return kept;
}

}  // namespace

std::vector<agent::Tool> Client::tools(ToolsOptions options) const {
    std::vector<agent::Tool> tools;
    std::map<std::string, std::string> given;  // the server's names by the names for models
    for (ToolInfo& info : wanted(listTools(), options.only)) {
        agent::Tool tool;
        const std::string name = shownName(info, options);
        if (const auto [at, is_new] = given.emplace(name, info.name); !is_new) {
            throw InvalidArgumentError("the MCP tools '" + at->second + "' and '" + info.name +
                                       "' would both be called '" + name +
                                       "'; leave one of them out with ToolsOptions::only");
        }
        tool.description.name = name;
        tool.description.description = info.description.empty() ? info.title : info.description;
        addSchema(tool, info, options);
        tool.approval = approvalOf(info, options);
        tool.on_doubt = options.on_doubt;
        tool.result_max = options.result_max;
        tool.files_max = options.files_max;
        tool.to_model = agent::detail::readToolOutput;
        auto call = std::make_shared<const AgentCall>(AgentCall{*this, info.name, options.timeout});
        tool.async_call = [call](const Value& arguments, agent::ToolContext& context) {
            return callForAgent(call, arguments, context);
        };
        tools.push_back(std::move(tool));
    }
    return tools;
}

}  // namespace stategraph::mcp
