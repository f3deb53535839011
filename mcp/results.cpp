#include "mcp/results.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "mcp/message.hpp"

namespace stategraph::mcp {

namespace detail {

namespace {

namespace json = boost::json;

ToolInfo readTool(const json::object& tool) {
    ToolInfo info;
    info.name = stringOf(tool, "name");
    info.title = stringOf(tool, "title");
    info.description = stringOf(tool, "description");
    const json::value* const input = tool.if_contains("inputSchema");
    info.input_schema = input != nullptr && !input->is_null() ? json::serialize(*input) : R"({"type":"object"})";
    if (const json::object* const output = objectIn(tool, "outputSchema"))
        info.output_schema = json::serialize(*output);
    if (const json::object* const hints = objectIn(tool, "annotations")) {
        if (info.title.empty()) info.title = stringOf(*hints, "title");
        info.read_only = flagOf(*hints, "readOnlyHint");
        info.destructive = flagOf(*hints, "destructiveHint");
        info.idempotent = flagOf(*hints, "idempotentHint");
    }
    return info;
}

Content readContent(const json::object& part) {
    Content content;
    content.type = stringOf(part, "type");
    content.text = stringOf(part, "text");
    content.media_type = stringOf(part, "mimeType");
    content.data = stringOf(part, "data");
    content.uri = stringOf(part, "uri");
    if (content.type == "resource_link") content.text = stringOf(part, "name");
    if (const json::object* const resource = objectIn(part, "resource")) {
        content.text = stringOf(*resource, "text");
        content.media_type = stringOf(*resource, "mimeType");
        content.data = stringOf(*resource, "blob");
        content.uri = stringOf(*resource, "uri");
    }
    return content;
}

}  // namespace

void readTools(const json::object& page, std::vector<ToolInfo>& tools) {
    const json::array* const listed = arrayIn(page, "tools");
    if (listed == nullptr) throw std::runtime_error("its answer to tools/list has no list of tools");
    for (const json::value& each : *listed) {
        // One without a name cannot be called, and is left out.
        if (each.is_object() && !stringOf(each.get_object(), "name").empty())
            tools.push_back(readTool(each.get_object()));
    }
}

CallResult readResult(const json::object& result) {
    CallResult out;
    out.is_error = flagOf(result, "isError").value_or(false);
    if (const json::value* const structured = result.if_contains("structuredContent");
        structured != nullptr && !structured->is_null()) {
        out.structured = parseJson(json::serialize(*structured));
    }
    if (const json::array* const parts = arrayIn(result, "content")) {
        for (const json::value& each : *parts) {
            if (each.is_object()) out.content.push_back(readContent(each.get_object()));
        }
    } else if (out.structured.isNull() && !out.is_error) {
        throw std::runtime_error("the answer has no content");
    }
    return out;
}

}  // namespace detail

std::string CallResult::text() const {
    std::string all;
    for (const Content& part : content) {
        if (&part != &content.front()) all += '\n';
        if (part.type == "text" || (part.type == "resource" && part.data.empty())) {
            all += part.text;
        } else {
            all += "[" + (part.type.empty() ? "something" : part.type);
            for (const std::string* fact : {&part.text, &part.media_type, &part.uri}) {
                if (!fact->empty()) all += " " + *fact;
            }
            if (!part.data.empty()) all += ", " + std::to_string(part.data.size()) + " bytes of base64, not shown";
            all += "]";
        }
    }
    return all;
}

Value CallResult::output() const { return structured.isNull() ? Value(text()) : structured; }

}  // namespace stategraph::mcp
