#include "model/http/gemini_request.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/detail/json_text.hpp>

#include "model/http/element_options.hpp"
#include "model/http/gemini_message.hpp"
#include "model/http/gemini_parts.hpp"
#include "model/http/json_access.hpp"
#include "model/http/provider_tools.hpp"
#include "model/http/text.hpp"
#include "model/http/wire_calls.hpp"

namespace stategraph::model::http {

namespace {

namespace json = boost::json;

/// Adds the parts of a message. Consecutive messages of one role are one element, as the results of parallel calls must
/// be.
void addTurn(json::array& contents, std::string_view role, json::array parts) {
    if (parts.empty()) return;
    if (contents.empty() || textOf(contents.back().as_object(), "role") != role)
        contents.push_back(json::object{{"role", role}, {"parts", json::array()}});
    json::array& all = contents.back().as_object().at("parts").as_array();
    for (json::value& part : parts) all.push_back(std::move(part));
}

json::array contentsOf(const GeminiOptions& options, const Request& request, std::string_view host) {
    const WireIds ids(request.messages);
    const ProviderBlocks own(request.messages, gemini_format);
    const GeminiSending sending{ids, own, host, isGemini3(options.model)};
    json::array contents;
    for (std::size_t at = 0; at < request.messages.size(); ++at) {
        const Message& message = request.messages[at];
        json::array parts;
        PartOptions extra(gemini_format, parts);
        if (message.role == Role::user) parts = geminiUserParts(message, extra);
        if (message.role == Role::assistant) parts = geminiModelParts(message, at, sending, extra);
        if (message.role == Role::tool) parts = geminiResultParts(message, at, sending, extra);
        if (!parts.empty()) extra.putOnMessage(parts.back().as_object());
        addTurn(contents, message.role == Role::assistant ? "model" : "user", std::move(parts));
    }
    return contents;
}

void putInstructions(json::object& body, const Request& request, const Settings& defaults) {
    json::array parts;
    if (!request.instructions.empty()) parts.push_back(geminiText(request.instructions));
    for (const Message& message : request.messages) {
        if (message.role != Role::system) continue;
        if (const std::string text = message.text(); !text.empty()) parts.push_back(geminiText(text));
    }
    if (parts.empty()) return;
    json::object instructions{{"parts", std::move(parts)}};
    for (const Value* const extra : {&defaults.instructions_extra, &request.settings.instructions_extra})
        putElementExtra(instructions, *extra, gemini_format, "Settings::instructions_extra");
    body["systemInstruction"] = std::move(instructions);
}

/// A function without parameters has no schema, because the server refuses an object without properties.
json::object functionDeclaration(const ToolDescription& tool) {
    json::object declared{{"name", tool.name}, {"description", validUtf8(tool.description)}};
    json::object schema = parseObject(tool.parameters, "the parameters' schema of the tool '" + tool.name + "'");
    const json::object* const properties = objectOf(schema, "properties");
    const bool has_none = schema.size() <= 2 && properties != nullptr && properties->empty();
    if (!has_none) declared["parametersJsonSchema"] = std::move(schema);
    putElementExtra(declared, tool.extra, gemini_format, "the extra of the tool '" + tool.name + "'");
    return declared;
}

void putFunctionDeclarations(json::object& body, const Request& request) {
    json::array functions;
    json::array tools;
    for (const ToolDescription& tool : request.tools) {
        if (tool.provider.empty()) {
            functions.push_back(functionDeclaration(tool));
        } else {
            tools.push_back(parseObject(tool.provider, "the declaration of the provider's tool '" + tool.name + "'"));
        }
    }
    const bool has_functions = !functions.empty();
    if (has_functions) tools.push_back(json::object{{"functionDeclarations", std::move(functions)}});
    if (tools.empty()) return;
    body["tools"] = std::move(tools);
    if (!has_functions) return;
    json::object calling;
    if (!request.required_tool.empty()) {
        calling["mode"] = "ANY";
        calling["allowedFunctionNames"] = json::array{json::string(request.required_tool)};
    } else if (request.tool_choice == ToolChoice::none) {
        calling["mode"] = "NONE";
    } else if (request.tool_choice == ToolChoice::required) {
        calling["mode"] = "ANY";
    }
    if (!calling.empty()) body["toolConfig"] = json::object{{"functionCallingConfig", std::move(calling)}};
}

json::object configOf(const Request& request, const Settings& defaults) {
    const Settings& own = request.settings;
    json::object config;
    const auto put = [&](const char* name, const auto& wanted, const auto& otherwise) {
        if (const auto& value = wanted ? wanted : otherwise) config[name] = *value;
    };
    put("maxOutputTokens", own.max_output_tokens, defaults.max_output_tokens);
    put("temperature", own.temperature, defaults.temperature);
    put("topP", own.top_p, defaults.top_p);
    put("seed", own.seed, defaults.seed);
    const std::vector<std::string>& stops = own.stop_sequences.empty() ? defaults.stop_sequences : own.stop_sequences;
    if (!stops.empty()) config["stopSequences"] = json::array(stops.begin(), stops.end());
    if (request.output) {
        config["responseMimeType"] = "application/json";
        config["responseJsonSchema"] =
            parseObject(request.output->schema, "the schema of the output '" + request.output->name + "'");
    }
    return config;
}

/// Nearly all options of this format are members of these two objects, which the library writes too.
void putGeminiExtra(json::object& body, const Value& extra) {
    if (extra.isNull()) return;
    json::object members = parseObject(extra.toJson(), "Settings::extra");
    for (const char* const name : {"generationConfig", "toolConfig"}) {
        const json::object* const given = objectOf(members, name);
        if (given == nullptr) continue;
        mergeMembers(body, {{name, *given}});
        members.erase(name);
    }
    putMembers(body, members);
}

}  // namespace

std::string geminiBody(const GeminiOptions& options, const Request& request, std::string_view host) {
    json::object body;
    putInstructions(body, request, options.settings);
    body["contents"] = contentsOf(options, request, host);
    putFunctionDeclarations(body, request);
    if (json::object config = configOf(request, options.settings); !config.empty())
        body["generationConfig"] = std::move(config);
    putGeminiExtra(body, options.settings.extra);
    putGeminiExtra(body, request.settings.extra);
    return detail::jsonText(body);
}

}  // namespace stategraph::model::http
