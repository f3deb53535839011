#include "model/http/responses_request.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <stategraph/detail/json_text.hpp>

#include "model/http/element_options.hpp"
#include "model/http/file_text.hpp"
#include "model/http/json_access.hpp"
#include "model/http/provider_tools.hpp"
#include "model/http/strict_schema.hpp"
#include "model/http/text.hpp"
#include "model/http/tool_content.hpp"
#include "model/http/wire_calls.hpp"

namespace stategraph::model::http {

namespace {

namespace json = boost::json;

json::object inputFile(const File& file) {
    const std::string_view type = file.media_type;
    if (const auto text = fileText(file)) return {{"type", "input_text"}, {"text", *text}};
    if (type.starts_with("image/")) return {{"type", "input_image"}, {"image_url", fileAddress(file)}};
    if (file.data.empty()) return {{"type", "input_file"}, {"file_url", file.url}};
    return {{"type", "input_file"}, {"filename", fileName(file)}, {"file_data", fileAddress(file)}};
}

json::object inputText(const std::string& text) { return {{"type", "input_text"}, {"text", text}}; }

json::object inputMessage(const char* role, const Message& message) {
    json::array parts;
    PartOptions options(responses_format, parts);
    for (const Part& part : message.content) {
        if (const auto* text = std::get_if<Text>(&part)) parts.push_back(inputText(validUtf8(text->text)));
        if (const auto* file = std::get_if<File>(&part)) parts.push_back(inputFile(*file));
        options.take(part, parts);
    }
    json::object out{{"role", role}, {"content", std::move(parts)}};
    options.putOnMessage(out);
    return out;
}

/// Returns a file of a tool's result. Errors: ModelError if the format has only texts in its place.
json::object resultFile(const File& file) {
    if (file.media_type.starts_with("audio/")) throw ModelError(fileNote(file), {});
    return inputFile(file);
}

json::array outputText(std::string_view text) {
    return {json::object{{"type", "output_text"}, {"text", validUtf8(text)}, {"annotations", json::array()}}};
}

json::object resultItem(const Message& message, std::size_t at, const WireIds& ids) {
    const std::string& call = answeredCall(ids, message, at);
    json::array content;
    PartOptions options(responses_format, content);
    content = toolContent(message, options, inputText, resultFile);
    json::object out{{"type", "function_call_output"}, {"call_id", call}};
    if (hasToolContent(message)) {
        out["output"] = std::move(content);
    } else {
        out["output"] = toolText(message);
    }
    options.putOnMessage(out);
    return out;
}

/// The items of one message of the assistant. Those that were kept determine the order, and the message itself what is
/// sent: its texts and calls may have been edited or left out.
class AssistantItems {
public:
    AssistantItems(const Message& message, std::size_t at, const WireIds& ids)
        : message_(message), at_(at), ids_(ids), text_(message.text()), is_sent_(message.calls.size()) {}

    json::array take(const std::optional<json::array>& kept) {
        if (kept) {
            readTextSizes(*kept);
            for (const json::value& item : *kept) {
                if (item.is_object()) addKept(item.get_object());
            }
        }
        thoughts_.clear();  // nothing follows them, and the server would refuse them
        if (!text_.empty()) push({{"role", "assistant"}, {"content", outputText(text_)}});
        for (std::size_t i = 0; i < is_sent_.size(); ++i) addCall(i, {{"type", "function_call"}});
        return std::move(items_);
    }

private:
    void readTextSizes(const json::array& kept) {
        std::size_t sum = 0;
        bool is_between_characters = true;  // the text may have been edited to another one of the same size
        for (const json::value& item : kept) {
            if (item.is_object()) sum += sizeOf(item.get_object());
            if (sum < text_.size()) is_between_characters &= (static_cast<unsigned char>(text_[sum]) & 0xc0U) != 0x80U;
        }
        is_split_ = sum == text_.size() && is_between_characters;
    }
    static std::size_t sizeOf(const json::object& item) {
        const std::int64_t size = integerOf(item, "text_size").value_or(0);
        return size > 0 ? static_cast<std::size_t>(size) : 0;
    }

    void addKept(const json::object& item) {
        const std::string_view type = textOf(item, "type");
        if (type == "message") {
            addText(item);
        } else if (type == "function_call") {
            for (std::size_t i = 0; i < is_sent_.size(); ++i) {
                if (message_.calls[i].provider_id == textOf(item, "call_id")) return addCall(i, item);
            }
        } else if (type == "reasoning") {
            thoughts_.push_back(item);
        } else if (isOwnCall(item)) {
            addOwnCall(textOf(item, "id"));
        } else {
            push(item);
        }
    }

    /// If the texts were edited, the first item gets all of them.
    void addText(json::object item) {
        const std::size_t size = is_split_ ? sizeOf(item) : text_.size();
        item.erase("text_size");
        if (size == 0) return;
        item["content"] = outputText(std::string_view(text_).substr(0, size));
        text_.erase(0, size);
        push(std::move(item));
    }

    void addCall(std::size_t place, json::object item) {
        if (is_sent_[place]) return;
        is_sent_[place] = true;
        item["call_id"] = ids_.ofCall(at_, place);
        item["name"] = validUtf8(message_.calls[place].name);
        item["arguments"] = wireArguments(message_.calls[place]);
        push(std::move(item));
    }

    void addOwnCall(std::string_view id) {
        for (const Part& each : message_.content) {
            const auto* const part = std::get_if<ProviderPart>(&each);
            if (part == nullptr || part->kind != ProviderPartKind::result || part->format != responses_format) continue;
            std::optional<json::value> item = part->call_id == id ? parseJsonText(part->data) : std::nullopt;
            if (item && item->is_object()) return push(std::move(item->get_object()));
        }
    }

    void push(json::object item) {
        for (json::object& thought : thoughts_) items_.push_back(std::move(thought));
        thoughts_.clear();
        items_.push_back(std::move(item));
    }

    const Message& message_;
    const std::size_t at_;
    const WireIds& ids_;
    std::string text_;                    // what has not been sent of it
    bool is_split_ = false;               // whether the kept sizes are those of the text
    std::vector<bool> is_sent_;           // by call
    std::vector<json::object> thoughts_;  // that wait for what they led to
    json::array items_;
};

json::array inputOf(const Request& request, const ItemOrigin& origin) {
    const WireIds ids(request.messages);
    json::array input;
    for (std::size_t at = 0; at < request.messages.size(); ++at) {
        const Message& message = request.messages[at];
        switch (message.role) {
            case Role::system:
                input.push_back(inputMessage("system", message));
                break;
            case Role::user:
                input.push_back(inputMessage("user", message));
                break;
            case Role::assistant:
                for (json::value& item : AssistantItems(message, at, ids).take(keptItems(message, origin)))
                    input.push_back(std::move(item));
                break;
            case Role::tool:
                input.push_back(resultItem(message, at, ids));
                break;
            case Role::remove:
            case Role::amend:
                break;
        }
    }
    return input;
}

void putFunctions(json::object& body, const Request& request) {
    json::array tools;
    for (const ToolDescription& tool : request.tools) {
        if (!tool.provider.empty()) {
            if (auto declared = providerTool(tool)) tools.push_back(std::move(*declared));
            continue;
        }
        // Without `strict` the server would change the schema, so that all members are required.
        json::object declared{
            {"type", "function"},
            {"name", tool.name},
            {"description", validUtf8(tool.description)},
            {"parameters", parseObject(tool.parameters, "the parameters' schema of the tool '" + tool.name + "'")},
            {"strict", false}};
        putElementExtra(declared, tool.extra, responses_format, "the extra of the tool '" + tool.name + "'");
        tools.push_back(std::move(declared));
    }
    if (tools.empty()) return;
    body["tools"] = std::move(tools);
    if (!request.required_tool.empty()) {
        body["tool_choice"] = json::object{{"type", "function"}, {"name", request.required_tool}};
    } else if (request.tool_choice == ToolChoice::none) {
        body["tool_choice"] = "none";
    } else if (request.tool_choice == ToolChoice::required) {
        body["tool_choice"] = "required";
    }
}

void putTextFormat(json::object& body, const OutputFormat& output) {
    json::value schema = parseObject(output.schema, "the schema of the output '" + output.name + "'");
    const bool is_strict = isStrictSchema(schema);
    json::object format{{"type", "json_schema"}, {"name", output.name}};
    format["schema"] = std::move(schema);
    format["strict"] = is_strict;
    body["text"] = json::object{{"format", std::move(format)}};
}

void putSampling(json::object& body, const Settings& own, const Settings& defaults) {
    if (own.seed || defaults.seed || !own.stop_sequences.empty() || !defaults.stop_sequences.empty()) {
        throw ModelError(has_no_seed, {});
    }
    const auto put = [&](const char* name, const auto& wanted, const auto& otherwise) {
        if (const auto& value = wanted ? wanted : otherwise) body[name] = *value;
    };
    put("max_output_tokens", own.max_output_tokens, defaults.max_output_tokens);
    put("temperature", own.temperature, defaults.temperature);
    put("top_p", own.top_p, defaults.top_p);
}

}  // namespace

std::string responsesBody(const ResponsesOptions& options, const Request& request, const ItemOrigin& origin) {
    json::object body{{"model", options.model}, {"stream", true}, {"store", false}};
    if (options.keep_thoughts) body["include"] = json::array{"reasoning.encrypted_content"};
    if (!request.instructions.empty()) body["instructions"] = validUtf8(request.instructions);
    body["input"] = inputOf(request, origin);
    putFunctions(body, request);
    if (request.output) putTextFormat(body, *request.output);
    putSampling(body, request.settings, options.settings);
    putProviderMembers(body, request.tools);
    putExtra(body, options.settings.extra, request.settings.extra);
    return detail::jsonText(body);
}

}  // namespace stategraph::model::http
