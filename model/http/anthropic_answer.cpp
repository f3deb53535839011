#include "model/http/anthropic_answer.hpp"

#include <utility>

#include <stategraph/detail/json_text.hpp>

#include "model/http/anthropic_request.hpp"
#include "model/http/json_access.hpp"
#include "model/http/text.hpp"

namespace stategraph::model::http {

namespace {

namespace json = boost::json;

FinishReason stopReasonOf(std::string_view text) {
    if (text == "end_turn" || text == "stop_sequence") return FinishReason::stop;
    if (text == "tool_use") return FinishReason::tool_calls;
    if (text == "max_tokens" || text == "model_context_window_exceeded") return FinishReason::length;
    if (text == "refusal") return FinishReason::content_filter;
    if (text == "pause_turn") return FinishReason::paused;
    return FinishReason::other;
}

constexpr std::string_view result_ending = "_tool_result";

bool isOwnToolUse(std::string_view type) { return type.ends_with("_tool_use"); }
bool isOwnResult(std::string_view type) { return type.ends_with(result_ending); }

}  // namespace

void AnthropicAnswer::take(std::string_view name, std::string_view data) {
    if (is_over_) return;
    const std::optional<json::value> parsed = parseJsonText(data);
    const json::object* event = parsed ? parsed->if_object() : nullptr;
    if (event == nullptr) {
        if (name == "error") throw streamedError(speaker_, json::value(json::string(data)));
        throw brokenOff(speaker_, "sent an event that is not a JSON object: " + quoted(data, speaker_.secret));
    }
    const std::string_view type = textOf(*event, "type");
    const json::value* error = member(*event, "error");
    if (type == "error" || name == "error" || (error != nullptr && !error->is_null())) {
        throw streamedError(speaker_, error != nullptr ? *error : *parsed);
    }
    if (type == "message_start") {
        if (const json::object* message = objectOf(*event, "message")) beginMessage(*message);
    } else if (type == "content_block_start") {
        beginBlock(*event);
    } else if (type == "content_block_delta") {
        takeDelta(*event);
    } else if (type == "content_block_stop") {
        endBlock(*event);
    } else if (type == "message_delta") {
        if (const json::object* usage = objectOf(*event, "usage")) takeUsage(*usage);
        const json::object* delta = objectOf(*event, "delta");
        const std::string_view reason = delta != nullptr ? textOf(*delta, "stop_reason") : std::string_view();
        if (!reason.empty()) finish_reason_ = stopReasonOf(reason);
    } else if (type == "message_stop") {
        is_over_ = true;
    }
}

/// Some proxies repeat the beginning of a message, or go over to another answer in the middle of one.
void AnthropicAnswer::beginMessage(const json::object& message) {
    const std::string_view id = textOf(message, "id");
    if (has_begun_ && id != reply_.response_id)
        throw brokenOff(speaker_, "began another message before its answer had ended");
    if (has_begun_) return;
    has_begun_ = true;
    reply_.response_id = id;
    reply_.model = textOf(message, "model");
    if (const json::object* usage = objectOf(message, "usage")) takeUsage(*usage);
    if (const std::string_view reason = textOf(message, "stop_reason"); !reason.empty())
        finish_reason_ = stopReasonOf(reason);
    // An answer that does not grow, such as calls that the provider's own code makes, may be whole at the beginning.
    const json::array* content = arrayOf(message, "content");
    for (std::size_t i = 0; content != nullptr && i < content->size(); ++i) {
        const json::object block{{"index", static_cast<std::int64_t>(i)}, {"content_block", (*content)[i]}};
        beginBlock(block);
        endBlock(block);
    }
}

void AnthropicAnswer::beginBlock(const json::object& event) {
    const json::object* block = objectOf(event, "content_block");
    const std::optional<std::int64_t> index = integerOf(event, "index");
    if (block == nullptr || !index) return;
    const std::string_view type = textOf(*block, "type");
    if (type == "text") {
        draft_.beginText();
        draft_.addText(textOf(*block, "text"));
    } else if (type == "thinking") {
        draft_.beginReasoning(textOf(*block, "signature"));
        draft_.addReasoning(textOf(*block, "thinking"));
    } else if (type == "redacted_thinking") {
        draft_.beginReasoning(std::string(redacted_mark) + std::string(textOf(*block, "data")));
    } else if (type == "tool_use") {
        Call call;
        call.place = draft_.beginCall(textOf(*block, "name"), textOf(*block, "id"));
        const json::object* input = objectOf(*block, "input");
        if (input != nullptr && !input->empty()) call.input = detail::jsonText(*input);
        calls_[*index] = std::move(call);
    } else if (isOwnToolUse(type) || isOwnResult(type)) {
        own_blocks_[*index] = {*block, {}};
    }
}

void AnthropicAnswer::takeDelta(const json::object& event) {
    const json::object* delta = objectOf(event, "delta");
    const std::optional<std::int64_t> index = integerOf(event, "index");
    if (delta == nullptr || !index) return;
    const std::string_view type = textOf(*delta, "type");
    if (type == "text_delta") {
        draft_.addText(textOf(*delta, "text"));
    } else if (type == "thinking_delta") {
        draft_.addReasoning(textOf(*delta, "thinking"));
    } else if (type == "signature_delta") {
        draft_.addSignature(textOf(*delta, "signature"));
    } else if (type == "input_json_delta") {
        const std::string_view piece = textOf(*delta, "partial_json");
        const auto found = calls_.find(*index);
        if (found != calls_.end()) draft_.addArguments(found->second.place, piece);
        const auto own = own_blocks_.find(*index);
        if (own != own_blocks_.end()) own->second.input += piece;
    } else if (type == "citations_delta") {
        const json::object* const source = objectOf(*delta, "citation");
        if (source != nullptr && !source->empty()) sources_.push_back(detail::jsonText(*source));
    }
}

void AnthropicAnswer::endBlock(const json::object& event) {
    const std::int64_t index = integerOf(event, "index").value_or(-1);
    endSources();
    if (const auto own = own_blocks_.extract(index)) endOwnBlock(std::move(own.mapped()));
    const auto found = calls_.find(index);
    if (found == calls_.end()) return;
    const Call& call = found->second;
    if (draft_.call(call.place).arguments.empty()) draft_.addArguments(call.place, call.input);
    calls_.erase(found);
}

void AnthropicAnswer::endOwnBlock(OwnBlock&& own) {
    const bool is_call = isOwnToolUse(textOf(own.block, "type"));
    if (is_call) {
        std::optional<json::value> input = parseJsonText(own.input);
        if (input && input->is_object()) own.block["input"] = std::move(*input);
    }
    ProviderPart part{.kind = is_call ? ProviderPartKind::call : ProviderPartKind::result,
                      .format = std::string(anthropic_format)};
    part.call_id = textOf(own.block, is_call ? "id" : "tool_use_id");
    if (is_call) {
        part.name = textOf(own.block, "name");
        own_names_[part.call_id] = part.name;
    } else {
        const auto known = own_names_.find(part.call_id);
        const std::string_view type = textOf(own.block, "type");  // the result of a call in an earlier answer
        part.name = known != own_names_.end() ? known->second : type.substr(0, type.size() - result_ending.size());
    }
    part.data = detail::jsonText(own.block);
    draft_.addProviderPart(std::move(part));
}

void AnthropicAnswer::endSources() {
    for (std::string& source : sources_) {
        ProviderPart part{.kind = ProviderPartKind::source, .format = std::string(anthropic_format)};
        part.data = std::move(source);
        draft_.addProviderPart(std::move(part));
    }
    sources_.clear();
}

/// Each number replaces the previous one, because the provider reports totals.
void AnthropicAnswer::takeUsage(const json::object& usage) {
    if (!usage_) usage_.emplace();
    uncached_tokens_ = integerOf(usage, "input_tokens").value_or(uncached_tokens_);
    usage_->cache_write_tokens = integerOf(usage, "cache_creation_input_tokens").value_or(usage_->cache_write_tokens);
    usage_->cached_tokens = integerOf(usage, "cache_read_input_tokens").value_or(usage_->cached_tokens);
    usage_->input_tokens = uncached_tokens_ + usage_->cache_write_tokens + usage_->cached_tokens;
    usage_->output_tokens = integerOf(usage, "output_tokens").value_or(usage_->output_tokens);
    if (const json::object* details = objectOf(usage, "output_tokens_details")) {
        usage_->reasoning_tokens = integerOf(*details, "thinking_tokens").value_or(usage_->reasoning_tokens);
    }
}

Reply AnthropicAnswer::finish() {
    endSources();
    draft_.checkEnd(finish_reason_, speaker_);
    reply_.message = draft_.finish(*finish_reason_);
    reply_.message.usage = usage_;
    return std::move(reply_);
}

}  // namespace stategraph::model::http
