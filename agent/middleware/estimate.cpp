#include "agent/middleware/estimate.hpp"

#include <string_view>
#include <variant>

namespace stategraph::agent::detail {

namespace {

constexpr std::size_t bytes_a_token = 4;
constexpr std::size_t bytes_a_file = 1000 * bytes_a_token;  // providers charge pictures by their size in pixels
constexpr std::string_view repair_prefix = "repair-";       // messages of the agent itself, which begin no turn

std::size_t bytesOf(const model::Message& message) {
    std::size_t bytes = 0;
    for (const model::Part& part : message.content) {
        if (const auto* const text = std::get_if<model::Text>(&part)) bytes += text->text.size();
        if (const auto* const thought = std::get_if<model::Reasoning>(&part)) bytes += thought->text.size();
        if (std::holds_alternative<model::File>(part)) bytes += bytes_a_file;
    }
    for (const model::ToolCall& call : message.calls) bytes += call.name.size() + call.arguments.size();
    if (message.result && bytes == 0) bytes += message.result->output.bytes().size();
    return bytes;
}

}  // namespace

std::int64_t tokensIn(std::span<const model::Message> messages) {
    std::size_t bytes = 0;
    for (const model::Message& message : messages) bytes += bytesOf(message);
    return static_cast<std::int64_t>(bytes / bytes_a_token);
}

std::size_t turnBegin(std::span<const model::Message> messages) noexcept {
    for (std::size_t at = messages.size(); at-- > 0;) {
        if (messages[at].role == model::Role::user && !messages[at].id.starts_with(repair_prefix)) return at;
    }
    return 0;
}

std::string transcriptOf(std::span<const model::Message> messages) {
    std::string text;
    for (const model::Message& message : messages) {
        if (message.result) {
            text += "result of " + message.result->name + ": " + message.result->text() + "\n";
            continue;
        }
        const std::string said = message.text();
        const std::string_view who = message.role == model::Role::assistant ? "assistant: "
                                     : message.role == model::Role::system  ? "system: "
                                                                            : "user: ";
        if (!said.empty()) text.append(who).append(said).append("\n");
        for (const model::ToolCall& call : message.calls)
            text += "assistant calls " + call.name + " " + call.arguments + "\n";
    }
    return text;
}

}  // namespace stategraph::agent::detail
