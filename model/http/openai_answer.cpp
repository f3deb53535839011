#include "model/http/openai_answer.hpp"

#include <algorithm>
#include <utility>

#include <stategraph/detail/json_text.hpp>

#include "model/http/json_access.hpp"
#include "model/http/text.hpp"

namespace stategraph::model::http {

namespace {

namespace json = boost::json;

FinishReason reasonOf(std::string_view text) {
    if (text == "stop" || text == "eos" || text == "end_turn") return FinishReason::stop;
    if (text == "tool_calls" || text == "function_call") return FinishReason::tool_calls;
    if (text == "length" || text == "max_tokens" || text == "model_length") return FinishReason::length;
    if (text == "content_filter") return FinishReason::content_filter;
    return FinishReason::other;
}

/// Arguments arrive as text, but some servers send the object itself.
std::string argumentsOf(const json::object* function) {
    const json::value* given = function != nullptr ? member(*function, "arguments") : nullptr;
    if (given == nullptr || given->is_null()) return {};
    if (const json::string* text = given->if_string()) return {text->data(), text->size()};
    return detail::jsonText(*given);
}

bool isWhole(const ToolCall& call) {
    if (!call.arguments.ends_with('}')) return false;  // avoids parsing most pieces
    const auto parsed = parseJsonText(call.arguments);
    return parsed && parsed->is_object();
}

/// Some servers say that the answer is over, and not why. It is whole if it has a text or calls, and each call has a
/// name and whole arguments.
std::optional<FinishReason> reasonByContent(const Message& message) {
    const auto isUsable = [](const ToolCall& call) {
        return !call.name.empty() && (call.arguments.empty() || isWhole(call));
    };
    if (!message.calls.empty()) {
        return std::ranges::all_of(message.calls, isUsable) ? std::optional(FinishReason::tool_calls) : std::nullopt;
    }
    return message.text().empty() ? std::nullopt : std::optional(FinishReason::stop);
}

/// Takes the texts and thoughts in a list of parts, such as Mistral's
/// {"type": "thinking", "thinking": [{"type": "text", "text": "…"}]}.
void takeParts(const json::object& delta, AnswerDraft& draft) {
    const json::array* parts = arrayOf(delta, "content");
    if (parts == nullptr) return;
    for (const json::value& each : *parts) {
        const json::object* const part = each.if_object();
        if (part == nullptr) continue;
        draft.addText(textOf(*part, "text"));
        draft.addReasoning(textOf(*part, "thinking"));
        const json::array* const thoughts = arrayOf(*part, "thinking");
        if (thoughts == nullptr) continue;
        for (const json::value& thought : *thoughts) {
            if (const json::object* object = thought.if_object()) draft.addReasoning(textOf(*object, "text"));
        }
    }
}

}  // namespace

std::optional<std::size_t> OpenAiCalls::find(std::optional<std::int64_t> index) const {
    if (!index) return last_;
    // If an index was used again, it means the call for which it was used last.
    const auto found = newest_.find(*index);
    return found != newest_.end() ? std::optional(found->second) : std::nullopt;
}

std::size_t OpenAiCalls::take(const json::object& delta, AnswerDraft& draft) {
    const std::optional<std::int64_t> index = integerOf(delta, "index");
    const std::string_view id = textOf(delta, "id");
    const json::object* function = objectOf(delta, "function");
    const std::string_view name = function != nullptr ? textOf(*function, "name") : std::string_view();
    const std::string arguments = argumentsOf(function);

    std::optional<std::size_t> open = find(index);
    bool is_new = !open;
    if (open) {
        const ToolCall& call = draft.call(*open);
        const bool has_other_id = !id.empty() && !call.provider_id.empty() && call.provider_id != id;
        const bool has_other_name = !name.empty() && !call.name.empty() && (name != call.name || !arguments.empty());
        const bool has_same_id = !id.empty() && call.provider_id == id;
        is_new = has_other_id || (has_other_name && !has_same_id && (isWhole(call) || name != call.name));
    }
    if (is_new) {
        open = draft.beginCall(name, id);
        if (index) newest_.insert_or_assign(*index, *open);
    } else {
        ToolCall& call = draft.call(*open);
        if (call.provider_id.empty()) call.provider_id = id;
        if (call.name.empty() && !name.empty()) draft.nameCall(*open, name);
    }
    last_ = open;
    draft.addArguments(*open, arguments);
    return *open;
}

void OpenAiAnswer::take(std::string_view name, std::string_view data) {
    if (is_over_) return;
    if (data == "[DONE]") {
        is_over_ = true;
        if (!finish_reason_) finish_reason_ = reasonByContent(draft_.message());
        return;
    }
    const std::optional<json::value> parsed = parseJsonText(data);
    const json::object* chunk = parsed ? parsed->if_object() : nullptr;
    if (chunk == nullptr) {
        if (name == "error") throw streamedError(speaker_, json::value(json::string(data)));
        throw brokenOff(speaker_, "sent an event that is not a JSON object: " + quoted(data, speaker_.secret));
    }
    const json::value* error = member(*chunk, "error");
    if (error != nullptr && !error->is_null()) throw streamedError(speaker_, *error);
    if (name == "error" || textOf(*chunk, "object") == "error") throw streamedError(speaker_, *parsed);
    takeChunk(*chunk);
}

void OpenAiAnswer::takeChunk(const json::object& chunk) {
    if (reply_.response_id.empty()) reply_.response_id = textOf(chunk, "id");
    if (reply_.model.empty()) reply_.model = textOf(chunk, "model");
    if (const json::object* usage = objectOf(chunk, "usage")) takeUsage(*usage);
    const json::array* choices = arrayOf(chunk, "choices");
    if (choices == nullptr) return;  // a keep-alive, or a filter's verdict on the prompt
    for (const json::value& each : *choices) {
        const json::object* choice = each.if_object();
        if (choice == nullptr || integerOf(*choice, "index").value_or(0) != 0) continue;
        if (const json::object* delta = objectOf(*choice, "delta")) takeDelta(*delta);
        const std::string_view reason = textOf(*choice, "finish_reason");
        if (reason == "error") throw brokenOff(speaker_, "ended its answer with an error");
        if (!reason.empty()) finish_reason_ = reasonOf(reason);
    }
}

void OpenAiAnswer::takeDelta(const json::object& delta) {
    const std::string_view reasoning = textOf(delta, "reasoning_content");
    draft_.addReasoning(!reasoning.empty() ? reasoning : textOf(delta, "reasoning"));
    takeContent(delta);
    if (const std::string_view refusal = textOf(delta, "refusal"); !refusal.empty()) {
        is_refused_ = true;
        draft_.addText(refusal);
    }
    takeSources(delta);
    metadata_.takeDelta(delta);
    const json::array* calls = arrayOf(delta, "tool_calls");
    if (calls == nullptr) return;
    for (const json::value& call : *calls) {
        if (const json::object* object = call.if_object()) metadata_.takeCall(calls_.take(*object, draft_), *object);
    }
}

/// Takes the content. Gemini marks pieces that are thoughts, and writes `<thought>` before the first of them and
/// `</thought>` after the last, perhaps at the beginning of the answer.
void OpenAiAnswer::takeContent(const json::object& delta) {
    constexpr std::string_view begin = "<thought>";
    constexpr std::string_view end = "</thought>";
    std::string_view text = textOf(delta, "content");
    if (isGoogleThought(delta)) {
        if (!is_thinking_ && text.starts_with(begin)) text.remove_prefix(begin.size());
        is_thinking_ = !text.ends_with(end);
        if (!is_thinking_) text.remove_suffix(end.size());
        draft_.addReasoning(text);
        return;
    }
    if (is_thinking_ && text.starts_with(end)) text.remove_prefix(end.size());
    is_thinking_ = is_thinking_ && text.empty();
    draft_.addText(text);
    takeParts(delta, draft_);
}

/// Takes the sources that a search of the provider found. Some servers repeat the whole list with each piece.
void OpenAiAnswer::takeSources(const json::object& delta) {
    const json::array* annotations = arrayOf(delta, "annotations");
    if (annotations == nullptr) return;
    for (const json::value& each : *annotations) {
        if (!each.is_object()) continue;
        std::string source = detail::jsonText(each);
        if (known_sources_.insert(source).second) sources_.push_back(std::move(source));
    }
}

void OpenAiAnswer::takeUsage(const json::object& usage) {
    Usage sum;
    sum.input_tokens = integerOf(usage, "prompt_tokens").value_or(0);
    sum.output_tokens = integerOf(usage, "completion_tokens").value_or(0);
    if (const json::object* output = objectOf(usage, "completion_tokens_details")) {
        sum.reasoning_tokens = integerOf(*output, "reasoning_tokens").value_or(0);
    }
    if (const json::object* input = objectOf(usage, "prompt_tokens_details")) {
        sum.cached_tokens = integerOf(*input, "cached_tokens").value_or(0);
        sum.cache_write_tokens = integerOf(*input, "cache_write_tokens").value_or(0);
    } else {  // DeepSeek
        sum.cached_tokens = integerOf(usage, "prompt_cache_hit_tokens").value_or(0);
    }
    usage_ = sum;
}

Reply OpenAiAnswer::finish() {
    draft_.checkEnd(finish_reason_, speaker_);
    for (std::string& source : sources_) {
        ProviderPart part{.kind = ProviderPartKind::source, .format = std::string(openai_format)};
        part.data = std::move(source);
        draft_.addProviderPart(std::move(part));
    }
    sources_.clear();
    reply_.message = draft_.finish(is_refused_ ? FinishReason::content_filter : *finish_reason_);
    reply_.message.usage = usage_;
    if (auto attached = metadata_.part(reply_.message, host_))
        reply_.message.content.emplace_back(std::move(*attached));
    return std::move(reply_);
}

}  // namespace stategraph::model::http
