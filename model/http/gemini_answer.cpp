#include "model/http/gemini_answer.hpp"

#include <algorithm>
#include <array>

#include <stategraph/detail/json_text.hpp>

#include "model/http/json_access.hpp"
#include "model/http/text.hpp"

namespace stategraph::model::http {

namespace json = boost::json;

namespace {

FinishReason finishReasonOf(std::string_view text) {
    constexpr std::array<std::string_view, 10> filtered = {"SAFETY",
                                                           "RECITATION",
                                                           "LANGUAGE",
                                                           "BLOCKLIST",
                                                           "PROHIBITED_CONTENT",
                                                           "SPII",
                                                           "IMAGE_SAFETY",
                                                           "IMAGE_PROHIBITED_CONTENT",
                                                           "IMAGE_RECITATION",
                                                           "MODEL_ARMOR"};
    if (text == "STOP") return FinishReason::stop;
    if (text == "MAX_TOKENS") return FinishReason::length;
    return std::ranges::find(filtered, text) != filtered.end() ? FinishReason::content_filter : FinishReason::other;
}

/// Returns whether the model wrote a call that cannot be read. The same request may succeed, because what it writes
/// differs from time to time.
bool isMalformed(std::string_view reason) {
    return reason == "MALFORMED_FUNCTION_CALL" || reason == "UNEXPECTED_TOOL_CALL" || reason == "MALFORMED_RESPONSE";
}

bool isGeminiThought(const json::object& part) {
    const json::value* const flag = member(part, "thought");
    return flag != nullptr && flag->is_bool() && flag->get_bool();
}

/// Returns the first of the members that is an object. Proxies write the names of the REST interface's other spelling.
const json::object* eitherOf(const json::object& object, std::string_view name, std::string_view otherwise) {
    const json::object* const found = objectOf(object, name);
    return found != nullptr ? found : objectOf(object, otherwise);
}

std::string_view eitherText(const json::object& object, std::string_view name, std::string_view otherwise) {
    const std::string_view text = textOf(object, name);
    return text.empty() ? textOf(object, otherwise) : text;
}

}  // namespace

void GeminiAnswer::take(std::string_view name, std::string_view data) {
    if (data == "[DONE]") return;  // some proxies end with it
    const std::optional<json::value> parsed = parseJsonText(data);
    const json::object* const piece = parsed ? parsed->if_object() : nullptr;
    if (piece == nullptr) {
        if (name == "error") throw streamedError(speaker_, json::value(json::string(data)));
        throw brokenOff(speaker_, "sent an event that is not a JSON object: " + quoted(data, speaker_.secret));
    }
    const json::value* const error = member(*piece, "error");
    if (error != nullptr && !error->is_null()) throw streamedError(speaker_, *error);
    if (name == "error") throw streamedError(speaker_, *parsed);
    takePiece(*piece);
}

void GeminiAnswer::takePiece(const json::object& piece) {
    if (reply_.response_id.empty()) reply_.response_id = textOf(piece, "responseId");
    if (reply_.model.empty()) reply_.model = textOf(piece, "modelVersion");
    if (const json::object* const usage = objectOf(piece, "usageMetadata")) takeUsage(*usage);
    if (const json::array* const candidates = arrayOf(piece, "candidates")) {
        for (const json::value& each : *candidates) {
            const json::object* const candidate = each.if_object();
            if (candidate != nullptr && integerOf(*candidate, "index").value_or(0) == 0) takeCandidate(*candidate);
        }
    }
    const json::object* const feedback = objectOf(piece, "promptFeedback");
    const bool is_blocked = feedback != nullptr && !textOf(*feedback, "blockReason").empty();
    if (is_blocked && !finish_reason_) finish_reason_ = FinishReason::content_filter;
}

void GeminiAnswer::takeCandidate(const json::object& candidate) {
    const json::object* const content = objectOf(candidate, "content");
    const json::array* const parts = content != nullptr ? arrayOf(*content, "parts") : nullptr;
    if (parts != nullptr) {
        for (const json::value& each : *parts) {
            if (const json::object* const part = each.if_object()) takePart(*part);
        }
    }
    takeSources(candidate);
    takeEnd(textOf(candidate, "finishReason"), textOf(candidate, "finishMessage"));
}

void GeminiAnswer::takePart(const json::object& part) {
    const std::string_view signature = eitherText(part, "thoughtSignature", "thought_signature");
    const std::string_view text = textOf(part, "text");
    if (const json::object* const call = eitherOf(part, "functionCall", "function_call")) {
        takeCall(*call, signature);
    } else if (const json::object* const data = eitherOf(part, "inlineData", "inline_data")) {
        if (isGeminiThought(part)) return;  // a draft of the picture that follows
        draft_.addFile({.media_type = std::string(eitherText(*data, "mimeType", "mime_type")),
                        .data = std::string(textOf(*data, "data"))});
        parts_.addFile(signature);
    } else if (const json::object* const address = eitherOf(part, "fileData", "file_data")) {
        draft_.addFile({.media_type = std::string(eitherText(*address, "mimeType", "mime_type")),
                        .url = std::string(eitherText(*address, "fileUri", "file_uri"))});
        parts_.addFile(signature);
    } else if (isGeminiThought(part)) {
        draft_.addReasoning(text);
        parts_.addThought(text.size(), signature);
    } else if (member(part, "text") != nullptr) {
        draft_.addText(text);
        parts_.addText(text.size(), signature);
    } else {
        takeOwn(part, signature);
    }
}

void GeminiAnswer::takeCall(const json::object& call, std::string_view signature) {
    const std::size_t place = draft_.beginCall(textOf(call, "name"), textOf(call, "id"));
    parts_.addCall(signature);
    const json::value* const arguments = member(call, "args");
    if (arguments == nullptr || arguments->is_null()) return;
    const json::string* const text = arguments->if_string();  // as some proxies write them
    draft_.addArguments(place, text != nullptr ? std::string(*text) : detail::jsonText(*arguments));
}

/// Takes a call of a tool that the provider executes, or its result.
void GeminiAnswer::takeOwn(const json::object& part, std::string_view signature) {
    const json::object* const code = objectOf(part, "executableCode");
    const json::object* const call = code != nullptr ? code : objectOf(part, "toolCall");
    const json::object* const code_result = objectOf(part, "codeExecutionResult");
    const json::object* const result = code_result != nullptr ? code_result : objectOf(part, "toolResponse");
    const json::object* const told = call != nullptr ? call : result;
    if (told == nullptr) return;
    ProviderPart own{.kind = call != nullptr ? ProviderPartKind::call : ProviderPartKind::result,
                     .format = std::string(gemini_format)};
    own.call_id = textOf(*told, "id");
    if (own.call_id.empty()) own.call_id = call != nullptr ? "own-" + std::to_string(++own_calls_) : own_call_;
    if (call != nullptr) own_call_ = own.call_id;
    const bool is_code = code != nullptr || code_result != nullptr;
    own.name = is_code ? "code_execution" : std::string(textOf(*told, "toolType"));
    json::object data = part;
    data.erase("thoughtSignature");
    data.erase("thought_signature");
    own.data = detail::jsonText(data);
    draft_.addProviderPart(std::move(own));
    parts_.addOwn(signature);
}

/// Takes the pages that a search found. The list may be repeated with each piece.
void GeminiAnswer::takeSources(const json::object& candidate) {
    const json::object* const grounding = objectOf(candidate, "groundingMetadata");
    const json::array* const chunks = grounding != nullptr ? arrayOf(*grounding, "groundingChunks") : nullptr;
    if (chunks == nullptr) return;
    for (const json::value& each : *chunks) {
        const json::object* const chunk = each.if_object();
        const json::object* web = chunk != nullptr ? objectOf(*chunk, "web") : nullptr;
        if (web == nullptr && chunk != nullptr) web = objectOf(*chunk, "maps");
        if (web == nullptr || textOf(*web, "uri").empty()) continue;
        ProviderPart source{.kind = ProviderPartKind::source, .format = std::string(gemini_format)};
        source.data = detail::jsonText(json::object{{"type", "web"},
                                                    {"url", json::string(textOf(*web, "uri"))},
                                                    {"title", json::string(textOf(*web, "title"))}});
        if (known_sources_.insert(source.data).second) sources_.push_back(std::move(source));
    }
}

void GeminiAnswer::takeEnd(std::string_view reason, std::string_view message) {
    if (reason.empty() || reason == "FINISH_REASON_UNSPECIFIED") return;
    const std::string says = message.empty() ? "" : ": " + quoted(message, speaker_.secret);
    if (isMalformed(reason))
        throw brokenOff(speaker_, "wrote a call that cannot be read (" + std::string(reason) + ")" + says);
    if (reason == "MISSING_THOUGHT_SIGNATURE" || reason == "TOO_MANY_TOOL_CALLS")
        throw speaker_.error("ended its answer with " + std::string(reason) + says, {.status = 200});
    finish_reason_ = finishReasonOf(reason);
}

/// The numbers are totals, so each replaces the one before it.
void GeminiAnswer::takeUsage(const json::object& usage) {
    const auto count = [&](std::string_view name) { return integerOf(usage, name).value_or(0); };
    const std::int64_t thoughts = count("thoughtsTokenCount");
    usage_ = Usage{.input_tokens = count("promptTokenCount"),
                   .output_tokens = count("candidatesTokenCount"),
                   .reasoning_tokens = thoughts,
                   .cached_tokens = count("cachedContentTokenCount")} +
             Usage{.input_tokens = count("toolUsePromptTokenCount"), .output_tokens = thoughts};
}

Reply GeminiAnswer::finish() {
    draft_.checkEnd(finish_reason_, speaker_);
    for (ProviderPart& source : sources_) draft_.addProviderPart(std::move(source));
    sources_.clear();
    reply_.message = draft_.finish(*finish_reason_);
    reply_.message.usage = usage_;
    if (auto kept = parts_.part(host_)) reply_.message.content.emplace_back(std::move(*kept));
    return std::move(reply_);
}

}  // namespace stategraph::model::http
