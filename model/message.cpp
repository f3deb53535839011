#include <stategraph/model/message.hpp>

#include <algorithm>

namespace stategraph::model {

const char* toString(FinishReason reason) noexcept {
    switch (reason) {
        case FinishReason::stop:
            return "stop";
        case FinishReason::tool_calls:
            return "tool-calls";
        case FinishReason::length:
            return "length";
        case FinishReason::content_filter:
            return "content-filter";
        case FinishReason::aborted:
            return "aborted";
        case FinishReason::paused:
            return "paused";
        case FinishReason::other:
            break;
    }
    return "other";
}

std::string ToolResult::text() const {
    // A CBOR text string begins with one of these bytes. It is reported as it is, and not as JSON with quotes.
    const std::string_view bytes = output.bytes();
    const bool is_text = !bytes.empty() && (static_cast<unsigned char>(bytes.front()) >> 5U) == 3;
    return is_text ? output.as<std::string>() : output.toJson();
}

std::string Message::text() const {
    std::string all;
    for (const Part& part : content) {
        if (const auto* text = std::get_if<Text>(&part)) all += text->text;
    }
    return all;
}

void Message::amend(Message& message) const {
    for (const ToolCall& changed : calls) {
        const auto call = std::ranges::find(message.calls, changed.id, &ToolCall::id);
        if (call == message.calls.end() || call->arguments == changed.arguments) continue;
        const bool is_known = std::ranges::any_of(message.content, [&](const Part& part) {
            const auto* const original = std::get_if<OriginalArguments>(&part);
            return original != nullptr && original->call_id == changed.id;
        });
        if (!is_known) message.content.emplace_back(OriginalArguments{changed.id, std::move(call->arguments)});
        call->arguments = changed.arguments;
    }
}

ProviderPart providerOptions(std::string format, std::string members) {
    ProviderPart part{.kind = ProviderPartKind::options, .format = std::move(format)};
    part.data = std::move(members);
    return part;
}

std::string textOf(const std::vector<Part>& content) {
    std::string all;
    for (const Part& part : content) {
        const auto* const text = std::get_if<Text>(&part);
        const auto* const file = std::get_if<File>(&part);
        if (text == nullptr && file == nullptr) continue;
        if (!all.empty()) all += '\n';
        if (text != nullptr) all += text->text;
        if (file != nullptr) all += "[" + (file->media_type.empty() ? "file" : file->media_type) + "]";
    }
    return all;
}

namespace {
Message said(Role role, std::string text) {
    Message message;
    message.role = role;
    message.content.emplace_back(Text{std::move(text)});
    return message;
}
}  // namespace

Message user(std::string text) { return said(Role::user, std::move(text)); }
Message system(std::string text) { return said(Role::system, std::move(text)); }
Message assistant(std::string text) {
    Message message = said(Role::assistant, std::move(text));
    message.finish_reason = FinishReason::stop;
    return message;
}
Message assistant(std::vector<ToolCall> calls) {
    Message message;
    message.role = Role::assistant;
    message.calls = std::move(calls);
    message.finish_reason = FinishReason::tool_calls;
    return message;
}

Message toolResult(const ToolCall& call, Value output, bool is_error) {
    Message message;
    message.role = Role::tool;
    message.result.emplace(ToolResult{call.id, call.name, std::move(output), is_error});
    message.id.reserve(sizeof("result-") + call.id.size());
    message.id.append("result-").append(call.id);
    return message;
}

}  // namespace stategraph::model
