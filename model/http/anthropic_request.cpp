#include "model/http/anthropic_request.hpp"

#include <utility>

#include <stategraph/detail/json_text.hpp>

#include "model/http/element_options.hpp"
#include "model/http/file_text.hpp"
#include "model/http/json_access.hpp"
#include "model/http/provider_tools.hpp"
#include "model/http/text.hpp"
#include "model/http/tool_content.hpp"
#include "model/http/wire_calls.hpp"

namespace stategraph::model::http {

namespace {

namespace json = boost::json;

constexpr std::int64_t default_max_tokens = 4096;

constexpr std::string_view blanks = " \t\r\n\f\v";

bool isBlank(std::string_view text) { return text.find_first_not_of(blanks) == std::string_view::npos; }

/// The types of pictures whose data the provider accepts.
bool isPictureType(std::string_view type) noexcept {
    return type == "image/jpeg" || type == "image/png" || type == "image/gif" || type == "image/webp";
}

json::object fileBlock(const File& file) {
    if (const auto text = fileText(file)) {
        json::object plain{{"type", "text"}, {"media_type", "text/plain"}, {"data", *text}};
        return {{"type", "document"}, {"source", std::move(plain)}};
    }
    const bool is_image = file.media_type.starts_with("image/");
    if (!is_image && file.media_type != "application/pdf") {
        throw ModelError(
            "Anthropic's format has pictures, application/pdf and the data of texts, and no files of type " +
                file.media_type,
            {});
    }
    if (is_image && !file.data.empty() && !isPictureType(file.media_type)) {
        throw ModelError(
            "Anthropic's format has pictures of the types image/jpeg, image/png, image/gif and image/webp, "
            "and none of type " +
                file.media_type,
            {});
    }
    json::object source{{"type", "url"}, {"url", file.url}};
    if (!file.data.empty()) source = {{"type", "base64"}, {"media_type", file.media_type}, {"data", file.data}};
    return {{"type", is_image ? "image" : "document"}, {"source", std::move(source)}};
}

void addThought(json::array& blocks, const Reasoning& thought) {
    if (thought.signature.starts_with(redacted_mark)) {
        blocks.push_back({{"type", "redacted_thinking"}, {"data", thought.signature.substr(redacted_mark.size())}});
    } else if (!thought.signature.empty()) {  // unsigned ones would be refused
        blocks.push_back({{"type", "thinking"}, {"thinking", thought.text}, {"signature", thought.signature}});
    }
}

bool isThought(const json::object& block) {
    const std::string_view type = textOf(block, "type");
    return type == "thinking" || type == "redacted_thinking";
}

/// Adds a source to the text before it, if the source is from the web search. The provider does not accept others in
/// the form in which it sent them.
void addSource(json::array& blocks, const ProviderPart& source) {
    std::optional<json::value> parsed = parseJsonText(source.data);
    const json::object* const citation = parsed ? parsed->if_object() : nullptr;
    if (citation == nullptr || textOf(*citation, "type") != "web_search_result_location" || blocks.empty()) return;
    json::object& text = blocks.back().as_object();
    if (textOf(text, "type") != "text") return;
    json::value& citations = text["citations"];
    if (citations.is_null()) citations = json::array();
    citations.get_array().push_back(std::move(*parsed));
}

void addOwnPart(json::array& blocks, const ProviderPart& part, const ProviderBlocks& own) {
    if (part.kind == ProviderPartKind::source) {
        if (part.format == anthropic_format) addSource(blocks, part);
    } else if (const json::object* const block = own.of(part)) {
        blocks.push_back(*block);
    }
}

json::object textBlock(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

void addContent(json::array& blocks, const Message& message, const ProviderBlocks& own, PartOptions& options) {
    for (const Part& part : message.content) {
        if (const auto* text = std::get_if<Text>(&part)) {
            if (!isBlank(text->text)) blocks.push_back(textBlock(validUtf8(text->text)));
        } else if (const auto* file = std::get_if<File>(&part)) {
            blocks.push_back(fileBlock(*file));
        } else if (message.role == Role::assistant) {
            if (const auto* thought = std::get_if<Reasoning>(&part)) addThought(blocks, *thought);
            if (const auto* used = std::get_if<ProviderPart>(&part)) addOwnPart(blocks, *used, own);
        }
        options.take(part, blocks);
    }
}

void addCalls(json::array& blocks, const Message& message, std::size_t at, const WireIds& ids) {
    for (std::size_t i = 0; i < message.calls.size(); ++i) {
        const ToolCall& call = message.calls[i];
        blocks.push_back({{"type", "tool_use"},
                          {"id", ids.ofCall(at, i)},
                          {"name", validUtf8(call.name)},
                          {"input", parseObject(wireArguments(call), "the arguments of a call")}});
    }
}

/// The provider refuses blank texts. Each blank text of a result is replaced by what it is, because an error must have
/// a text, and the model would wait for a result that is left out.
std::string noBlank(std::string text) { return isBlank(text) ? "[an empty text]" : std::move(text); }

/// The content of an error may have texts only.
void addResult(json::array& blocks, const Message& message, std::size_t at, const WireIds& ids, PartOptions& options) {
    const std::string& call = answeredCall(ids, message, at);
    const auto textOrNote = [](const std::string& text) { return textBlock(noBlank(text)); };
    json::array content = toolContent(message, options, textOrNote, fileBlock);
    json::object block{{"type", "tool_result"}, {"tool_use_id", call}};
    if (message.result->is_error) block["is_error"] = true;
    if (hasToolContent(message) && !message.result->is_error) {
        block["content"] = std::move(content);
    } else {
        block["content"] = noBlank(toolText(message));
    }
    blocks.push_back(std::move(block));
}

/// Joins consecutive messages of the same role. This is required for the results of a turn, and so for the messages
/// that follow them.
class Turns {
public:
    json::array& of(std::string_view role) {
        if (!isLast(role)) trimThoughts();
        if (!isLast(role)) turns_.push_back(json::object{{"role", role}, {"content", json::array()}});
        return blocks();
    }
    json::array take() {
        trimThoughts();
        trimBlanks();
        return std::move(turns_);
    }

private:
    bool isLast(std::string_view role) const {
        return !turns_.empty() && textOf(turns_.back().as_object(), "role") == role;
    }
    json::array& blocks() { return turns_.back().as_object().at("content").as_array(); }

    // The provider refuses a turn of the assistant that ends with thoughts, such as those of an answer that was cut
    // off, or of which nothing else is sent.
    void trimThoughts() {
        if (!isLast("assistant")) return;
        while (!blocks().empty() && isThought(blocks().back().as_object())) blocks().pop_back();
        if (blocks().empty()) turns_.pop_back();
    }
    // The provider refuses a conversation that ends with blanks of the assistant, such as an answer that it paused.
    void trimBlanks() {
        if (!isLast("assistant")) return;
        json::object& last = blocks().back().as_object();
        if (textOf(last, "type") != "text") return;
        json::string& text = last.at("text").as_string();
        text.resize(std::string_view(text).find_last_not_of(blanks) + 1);
    }

    json::array turns_;
};

json::array messagesOf(const Request& request) {
    const WireIds ids(request.messages);
    const ProviderBlocks own(request.messages, anthropic_format);
    Turns turns;
    for (std::size_t at = 0; at < request.messages.size(); ++at) {
        const Message& message = request.messages[at];
        json::array blocks;
        PartOptions options(anthropic_format, blocks);
        if (message.role == Role::tool) addResult(blocks, message, at, ids, options);
        if (message.role == Role::user || message.role == Role::assistant) addContent(blocks, message, own, options);
        if (message.role == Role::assistant) addCalls(blocks, message, at, ids);
        if (blocks.empty()) continue;
        options.putOnMessage(blocks.back().as_object());
        json::array& turn = turns.of(message.role == Role::assistant ? "assistant" : "user");
        for (json::value& block : blocks) turn.push_back(std::move(block));
    }
    return turns.take();
}

/// Returns the system prompt as one text, or as a list of blocks if options belong to one of them; null if it is blank.
json::value systemOf(const Request& request, const Settings& defaults) {
    json::array blocks;
    bool has_options = false;
    const auto add = [&](std::string_view text, const auto& putOptions) {
        if (isBlank(text)) return;
        json::object block = textBlock(validUtf8(text));
        putOptions(block);
        has_options = has_options || block.size() > 2;
        blocks.push_back(std::move(block));
    };
    add(request.instructions, [&](json::object& block) {
        for (const Value* const extra : {&defaults.instructions_extra, &request.settings.instructions_extra})
            putElementExtra(block, *extra, anthropic_format, "Settings::instructions_extra");
    });
    for (const Message& message : request.messages) {
        if (message.role != Role::system) continue;
        add(message.text(), [&](json::object& block) {
            json::array list{std::move(block)};
            PartOptions options(anthropic_format, json::array());
            for (const Part& part : message.content) options.take(part, list);
            block = std::move(list.front().as_object());
        });
    }
    if (blocks.empty()) return nullptr;
    if (has_options) return blocks;
    std::string all;
    for (const json::value& block : blocks) all.append(all.empty() ? "" : "\n\n").append(block.at("text").as_string());
    return json::string(all);
}

void putTools(json::object& body, const Request& request) {
    if (request.tools.empty()) return;
    json::array tools;
    for (const ToolDescription& tool : request.tools) {
        if (!tool.provider.empty()) {
            if (auto declared = providerTool(tool)) tools.push_back(std::move(*declared));
            continue;
        }
        json::object declared{
            {"name", tool.name},
            {"description", validUtf8(tool.description)},
            {"input_schema", parseObject(tool.parameters, "the parameters' schema of the tool '" + tool.name + "'")}};
        putElementExtra(declared, tool.extra, anthropic_format, "the extra of the tool '" + tool.name + "'");
        tools.push_back(std::move(declared));
    }
    if (tools.empty()) return;
    body["tools"] = std::move(tools);
    if (!request.required_tool.empty()) {
        body["tool_choice"] = json::object{{"type", "tool"}, {"name", request.required_tool}};
    } else if (request.tool_choice == ToolChoice::none) {
        body["tool_choice"] = json::object{{"type", "none"}};
    } else if (request.tool_choice == ToolChoice::required) {
        body["tool_choice"] = json::object{{"type", "any"}};
    }
}

void putSettings(json::object& body, const Settings& own, const Settings& defaults) {
    if (own.seed || defaults.seed) throw ModelError("Anthropic's format has no seed; leave Settings::seed empty", {});
    const auto put = [&](const char* name, const auto& wanted, const auto& otherwise) {
        if (const auto& value = wanted ? wanted : otherwise) body[name] = *value;
    };
    body["max_tokens"] = default_max_tokens;
    put("max_tokens", own.max_output_tokens, defaults.max_output_tokens);
    put("temperature", own.temperature, defaults.temperature);
    put("top_p", own.top_p, defaults.top_p);
    const std::vector<std::string>& stops = own.stop_sequences.empty() ? defaults.stop_sequences : own.stop_sequences;
    if (!stops.empty()) body["stop_sequences"] = json::array(stops.begin(), stops.end());
}

}  // namespace

std::string anthropicBody(const AnthropicOptions& options, const Request& request) {
    json::object body{{"model", options.model}, {"stream", true}};
    if (json::value system = systemOf(request, options.settings); !system.is_null()) body["system"] = std::move(system);
    body["messages"] = messagesOf(request);
    putTools(body, request);
    // A forced tool would work for older models too, but it cannot be combined with thinking or with other tools.
    if (request.output) {
        json::object schema =
            parseObject(request.output->schema, "the schema of the output '" + request.output->name + "'");
        json::object format{{"type", "json_schema"}, {"schema", std::move(schema)}};
        body["output_config"] = json::object{{"format", std::move(format)}};
    }
    putSettings(body, request.settings, options.settings);
    putProviderMembers(body, request.tools);
    putExtra(body, options.settings.extra, request.settings.extra);
    return detail::jsonText(body);
}

}  // namespace stategraph::model::http
