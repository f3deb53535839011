#include "model/http/openai_request.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <stategraph/detail/json_text.hpp>

#include "model/http/element_options.hpp"
#include "model/http/file_text.hpp"
#include "model/http/json_access.hpp"
#include "model/http/openai_metadata.hpp"
#include "model/http/provider_tools.hpp"
#include "model/http/strict_schema.hpp"
#include "model/http/text.hpp"
#include "model/http/tool_content.hpp"
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
        const std::string_view encoding = type == "audio/mpeg" ? "mp3" : type.substr(6);
        return {{"type", "input_audio"}, {"input_audio", {{"data", file.data}, {"format", encoding}}}};
    }
    return {{"type", "file"}, {"file", {{"filename", fileName(file)}, {"file_data", fileAddress(file)}}}};
}

json::object textPart(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

/// Returns whether the content must be a list: it has files, or options for one of its parts.
bool needsList(const Message& message) {
    bool has_part = false;
    for (const Part& part : message.content) {
        const auto* const own = std::get_if<ProviderPart>(&part);
        if (std::holds_alternative<File>(part)) return true;
        if (has_part && own != nullptr && own->kind == ProviderPartKind::options && own->format == openai_format)
            return true;
        has_part = has_part || std::holds_alternative<Text>(part);
    }
    return false;
}

/// Puts the content into the message on the wire, and what options say. The content is one text if it can be, because
/// not every server accepts a list.
json::object withContent(json::object out, const Message& message) {
    json::array parts;
    PartOptions options(openai_format, parts);
    for (const Part& part : message.content) {
        if (const auto* text = std::get_if<Text>(&part)) parts.push_back(textPart(validUtf8(text->text)));
        if (const auto* file = std::get_if<File>(&part)) parts.push_back(filePart(*file));
        options.take(part, parts);
    }
    if (needsList(message)) {
        out["content"] = std::move(parts);
    } else {
        out["content"] = validUtf8(message.text());
    }
    options.putOnMessage(out);
    return out;
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
    json::object out = withContent({{"role", "assistant"}}, message);
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

/// Adds a result, which is a text in this format. Its files are added to `files`, the content of a message of the user
/// that follows the results.
json::object toolMessage(const Message& message, std::size_t at, const WireIds& ids, json::array& files) {
    const std::string& call = answeredCall(ids, message, at);
    json::array content;
    PartOptions options(openai_format, content);
    content = toolContent(message, options, textPart, filePart);
    const auto isText = [](const json::value& part) { return textOf(part.as_object(), "type") == "text"; };
    if (!std::ranges::all_of(content, isText)) {
        files.push_back(
            textPart("Files that the tool '" + validUtf8(message.result->name) + "' returned (call " + call + "):"));
        for (json::value& part : content) {
            if (!isText(part)) files.push_back(std::move(part));
        }
    }
    json::object out{{"role", "tool"}, {"tool_call_id", call}, {"content", toolText(message)}};
    options.putOnMessage(out);
    return out;
}

json::object instructionsOf(const Request& request, const Settings& defaults) {
    json::object out{{"role", "system"}, {"content", validUtf8(request.instructions)}};
    for (const Value* const extra : {&defaults.instructions_extra, &request.settings.instructions_extra})
        putElementExtra(out, *extra, openai_format, "Settings::instructions_extra");
    return out;
}

json::array messagesOf(const OpenAiOptions& options, const Request& request, std::string_view host) {
    const WireIds ids(request.messages);
    const Sending sending{ids, options.send_reasoning, host};
    json::array messages;
    json::array files;
    if (!request.instructions.empty()) messages.push_back(instructionsOf(request, options.settings));
    for (std::size_t at = 0; at < request.messages.size(); ++at) {
        const Message& message = request.messages[at];
        switch (message.role) {
            case Role::system:
                messages.push_back(withContent({{"role", "system"}}, message));
                break;
            case Role::user:
                messages.push_back(withContent({{"role", "user"}}, message));
                break;
            case Role::assistant:
                messages.push_back(assistantMessage(message, at, sending));
                break;
            case Role::tool:
                messages.push_back(toolMessage(message, at, ids, files));
                if (at + 1 < request.messages.size() && request.messages[at + 1].role == Role::tool) break;
                if (!files.empty()) messages.push_back({{"role", "user"}, {"content", std::exchange(files, {})}});
                break;
            case Role::remove:
            case Role::amend:
                break;
        }
    }
    return messages;
}

void putChatTools(json::object& body, const Request& request) {
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
        json::object declared{{"type", "function"}, {"function", std::move(function)}};
        putElementExtra(declared, tool.extra, openai_format, "the extra of the tool '" + tool.name + "'");
        tools.push_back(std::move(declared));
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
    body["messages"] = messagesOf(options, request, host);
    putChatTools(body, request);
    if (request.output) putOutput(body, *request.output);
    putSettings(body, request.settings, options.settings, options.max_tokens_member);
    // The choice `none` would not keep a server from using these tools, so they are left out.
    if (request.tool_choice != ToolChoice::none || !request.required_tool.empty())
        putProviderMembers(body, request.tools);
    putExtra(body, options.settings.extra, request.settings.extra);
    return detail::jsonText(body);
}

}  // namespace stategraph::model::http
