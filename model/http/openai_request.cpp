#include "model/http/openai_request.hpp"

#include <algorithm>

#include <stategraph/detail/json_text.hpp>

#include "model/http/file_text.hpp"
#include "model/http/json_access.hpp"
#include "model/http/openai_metadata.hpp"
#include "model/http/provider_tools.hpp"
#include "model/http/strict_schema.hpp"
#include "model/http/text.hpp"
#include "model/http/wire_calls.hpp"

namespace stategraph::model::http {

namespace {

namespace json = boost::json;

json::object filePart(const File& file) {
    const std::string_view type = file.media_type;
    if (const auto text = fileText(file)) return {{"type", "text"}, {"text", *text}};
    if (type.starts_with("image/")) {
        return {{"type", "image_url"}, {"image_url", {{"url", fileAddress(file)}}}};
    }
    if (file.data.empty())
        throw ModelError(
            "OpenAI's format has only images by address; give the data of the file of type " + file.media_type, {});
    if (type.starts_with("audio/")) {
        const std::string_view format = type == "audio/mpeg" ? "mp3" : type.substr(6);
        return {{"type", "input_audio"}, {"input_audio", {{"data", file.data}, {"format", format}}}};
    }
    return {{"type", "file"}, {"file", {{"filename", fileName(file)}, {"file_data", fileAddress(file)}}}};
}

/// Returns one text if there are no files, because not every server accepts a list.
json::value contentOf(const Message& message) {
    const auto isFile = [](const Part& part) { return std::holds_alternative<File>(part); };
    if (std::none_of(message.content.begin(), message.content.end(), isFile))
        return json::string(validUtf8(message.text()));
    json::array parts;
    for (const Part& part : message.content) {
        if (const auto* text = std::get_if<Text>(&part))
            parts.push_back({{"type", "text"}, {"text", validUtf8(text->text)}});
        if (const auto* file = std::get_if<File>(&part)) parts.push_back(filePart(*file));
    }
    return parts;
}

std::string reasoningOf(const Message& message) {
    std::string all;
    for (const Part& part : message.content) {
        if (const auto* thought = std::get_if<Reasoning>(&part)) all += thought->text;
    }
    return validUtf8(all);
}

json::array callsOf(const Message& message, std::size_t at, const WireIds& ids) {
    json::array calls;
    for (std::size_t i = 0; i < message.calls.size(); ++i) {
        json::object function{{"name", validUtf8(message.calls[i].name)},
                              {"arguments", wireArguments(message.calls[i])}};
        calls.push_back({{"id", ids.ofCall(at, i)}, {"type", "function"}, {"function", std::move(function)}});
    }
    return calls;
}

/// What is the same for all messages of a request.
struct Sending {
    const WireIds& ids;
    bool send_reasoning = false;
    std::string_view host;
};

json::object assistantMessage(const Message& message, std::size_t at, const Sending& sending) {
    json::object out{{"role", "assistant"}, {"content", contentOf(message)}};
    if (sending.send_reasoning) {
        const std::string reasoning = reasoningOf(message);
        if (!reasoning.empty()) out["reasoning_content"] = reasoning;
    }
    if (!message.calls.empty()) {
        if (message.text().empty()) out["content"] = nullptr;
        out["tool_calls"] = callsOf(message, at, sending.ids);
    }
    putMetadata(out, message, sending.host);
    return out;
}

json::object toolMessage(const Message& message, std::size_t at, const WireIds& ids) {
    const std::string& call = answeredCall(ids, message, at);
    return {{"role", "tool"}, {"tool_call_id", call}, {"content", validUtf8(message.result->text())}};
}

json::array messagesOf(const Request& request, bool send_reasoning, std::string_view host) {
    const WireIds ids(request.messages);
    const Sending sending{ids, send_reasoning, host};
    json::array messages;
    if (!request.instructions.empty())
        messages.push_back({{"role", "system"}, {"content", validUtf8(request.instructions)}});
    for (std::size_t at = 0; at < request.messages.size(); ++at) {
        const Message& message = request.messages[at];
        switch (message.role) {
            case Role::system:
                messages.push_back({{"role", "system"}, {"content", contentOf(message)}});
                break;
            case Role::user:
                messages.push_back({{"role", "user"}, {"content", contentOf(message)}});
                break;
            case Role::assistant:
                messages.push_back(assistantMessage(message, at, sending));
                break;
            case Role::tool:
                messages.push_back(toolMessage(message, at, ids));
                break;
            case Role::remove:
            case Role::amend:
                break;
        }
    }
    return messages;
}

void putFunctions(json::object& body, const Request& request) {
    if (request.tools.empty()) return;
    json::array tools;
    for (const ToolDescription& tool : request.tools) {
        if (!tool.provider.empty()) {
            if (auto declared = providerTool(tool)) tools.push_back(std::move(*declared));
            continue;
        }
        json::object function{
            {"name", tool.name},
            {"description", validUtf8(tool.description)},
            {"parameters", parseObject(tool.parameters, "the parameters' schema of the tool '" + tool.name + "'")}};
        tools.push_back({{"type", "function"}, {"function", std::move(function)}});
    }
    if (tools.empty()) return;
    body["tools"] = std::move(tools);
    if (!request.required_tool.empty()) {
        body["tool_choice"] = {{"type", "function"}, {"function", {{"name", request.required_tool}}}};
    } else if (request.tool_choice == ToolChoice::none) {
        body["tool_choice"] = "none";
    } else if (request.tool_choice == ToolChoice::required) {
        body["tool_choice"] = "required";
    }
}

void putOutput(json::object& body, const OutputFormat& output) {
    json::value schema = parseObject(output.schema, "the schema of the output '" + output.name + "'");
    const bool is_strict = isStrictSchema(schema);
    body["response_format"] = {
        {"type", "json_schema"},
        {"json_schema", {{"name", output.name}, {"schema", std::move(schema)}, {"strict", is_strict}}}};
}

void putSettings(json::object& body, const Settings& own, const Settings& defaults,
                 const std::string& max_tokens_member) {
    const auto put = [&](const std::string& name, const auto& wanted, const auto& otherwise) {
        if (const auto& value = wanted ? wanted : otherwise) body[name] = *value;
    };
    put(max_tokens_member, own.max_output_tokens, defaults.max_output_tokens);
    put("temperature", own.temperature, defaults.temperature);
    put("top_p", own.top_p, defaults.top_p);
    put("seed", own.seed, defaults.seed);
    const std::vector<std::string>& stops = own.stop_sequences.empty() ? defaults.stop_sequences : own.stop_sequences;
    if (!stops.empty()) body["stop"] = json::array(stops.begin(), stops.end());
}

}  // namespace

std::string openAiBody(const OpenAiOptions& options, const Request& request, std::string_view host) {
    json::object body{{"model", options.model}, {"stream", true}, {"stream_options", {{"include_usage", true}}}};
    body["messages"] = messagesOf(request, options.send_reasoning, host);
    putFunctions(body, request);
    if (request.output) putOutput(body, *request.output);
    putSettings(body, request.settings, options.settings, options.max_tokens_member);
    // The choice `none` would not keep a server from using these tools, so they are left out.
    if (request.tool_choice != ToolChoice::none || !request.required_tool.empty())
        putProviderMembers(body, request.tools);
    putExtra(body, options.settings.extra, request.settings.extra);
    return detail::jsonText(body);
}

}  // namespace stategraph::model::http
