#include "agent/tool_result.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/detail/utf8.hpp>

#include "agent/calls.hpp"

namespace stategraph::agent::detail {

namespace {

using model::Message;
using model::Part;

constexpr std::size_t error_text_max = 4096;
// A value's JSON is at most this many times as long as its bytes.
constexpr std::size_t json_growth_max = 8;

bool cut(std::string& text, std::size_t most) {
    if (text.size() <= most) return false;
    const std::size_t size = text.size();
    text = std::string(stategraph::detail::beginningOf(text, most));
    text += "\n[The result was cut: these are the first " + std::to_string(text.size()) + " of its " +
            std::to_string(size) + " bytes. Ask for less.]";
    return true;
}

/// Keeps what models can receive, within the limits of the tool.
std::vector<Part> limited(const Tool& tool, std::vector<Part> content) {
    std::size_t text_left = tool.result_max;
    std::size_t files_left = tool.files_max;
    std::vector<Part> kept;
    for (Part& part : content) {
        if (auto* const text = std::get_if<model::Text>(&part)) {
            if (text_left == 0) continue;
            const std::size_t size = text->text.size();
            cut(text->text, text_left);
            text_left -= std::min(text_left, size);
        } else if (const auto* const file = std::get_if<model::File>(&part)) {
            const std::size_t size = file->data.size() + file->url.size();
            if (size > files_left) {
                part = model::Text{"[A file of the type " + file->media_type + " was left out: it has " +
                                   std::to_string(size) + " bytes, and of this result " + std::to_string(files_left) +
                                   " more are allowed.]"};
            } else {
                files_left -= size;
            }
        } else if (!std::holds_alternative<model::ProviderPart>(part)) {
            continue;
        }
        kept.push_back(std::move(part));
    }
    return kept;
}

model::ToolOutput outputOf(const Tool& tool, Value returned, bool is_error) {
    if (!tool.to_model || is_error) return {.output = std::move(returned)};
    model::ToolOutput output = tool.to_model(std::move(returned));
    output.content = limited(tool, std::move(output.content));
    if (output.output.isNull() && !output.content.empty()) output.output = Value(model::textOf(output.content));
    return output;
}

}  // namespace

Message failedResult(const model::ToolCall& call, std::string text) {
    if (text.size() > error_text_max) text = std::string(stategraph::detail::beginningOf(text, error_text_max)) + "…";
    return model::toolResult(call, Value("Error: " + stategraph::detail::withoutStrayBytes(text)), true);
}

Message resultMessage(const Tool& tool, const model::ToolCall& call, Value returned, bool is_error) {
    model::ToolOutput output;
    try {
        output = outputOf(tool, std::move(returned), is_error);
    } catch (...) {
        return failedResult(call, failureUnderWay());
    }
    Message message = model::toolResult(call, std::move(output.output), is_error);
    message.content = std::move(output.content);
    if (message.result->output.bytes().size() <= tool.result_max / json_growth_max) return message;
    std::string text = message.result->text();
    if (cut(text, tool.result_max)) message.result->output = Value(std::move(text));
    return message;
}

}  // namespace stategraph::agent::detail
