#include "model/http/responses_answer.hpp"

#include <stategraph/detail/json_text.hpp>

#include "model/http/json_access.hpp"
#include "model/http/text.hpp"

namespace stategraph::model::http {

namespace json = boost::json;

namespace {

std::int64_t indexOf(const json::object& event) { return integerOf(event, "output_index").value_or(0); }

/// Calls `take` with the text of each part of a list.
template <class Take>
void eachText(const json::object& item, std::string_view list, Take take) {
    const json::array* const parts = arrayOf(item, list);
    if (parts == nullptr) return;
    for (const json::value& each : *parts) {
        if (const json::object* const part = each.if_object()) take(*part, textOf(*part, "text"));
    }
}

FinishReason cutReasonOf(const json::object& response) {
    const json::object* const details = objectOf(response, "incomplete_details");
    const std::string_view reason = details != nullptr ? textOf(*details, "reason") : std::string_view();
    return reason == "content_filter" ? FinishReason::content_filter : FinishReason::length;
}

}  // namespace

void ResponsesAnswer::take(std::string_view name, std::string_view data) {
    if (isOver() || data == "[DONE]") return;
    const std::optional<json::value> parsed = parseJsonText(data);
    const json::object* const event = parsed ? parsed->if_object() : nullptr;
    if (event == nullptr) {
        if (name == "error") throw streamedError(speaker_, json::value(json::string(data)));
        throw brokenOff(speaker_, "sent an event that is not a JSON object: " + quoted(data, speaker_.secret));
    }
    const std::string_view type = textOf(*event, "type");
    const json::value* const error = member(*event, "error");
    if (type == "error" || name == "error" || (error != nullptr && !error->is_null()))
        throw streamedError(speaker_, error != nullptr && !error->is_null() ? *error : *parsed);
    takeEvent(type, *event);
}

void ResponsesAnswer::takeEvent(std::string_view type, const json::object& event) {
    const json::object* const item = objectOf(event, "item");
    const json::object* const response = objectOf(event, "response");
    if (type == "response.output_item.added") {
        if (item != nullptr) begin(indexOf(event), *item);
    } else if (type == "response.output_item.done") {
        if (item != nullptr) end(indexOf(event), *item);
    } else if (type == "response.created") {
        if (response != nullptr) reply_.response_id = textOf(*response, "id");
        if (response != nullptr) reply_.model = textOf(*response, "model");
    } else if (type == "response.completed" || type == "response.incomplete" || type == "response.failed") {
        takeEnd(type.substr(type.find('.') + 1), response != nullptr ? *response : event);
    } else {
        takeDelta(type, event);
    }
}

void ResponsesAnswer::takeDelta(std::string_view type, const json::object& event) {
    const std::int64_t index = indexOf(event);
    const std::string_view piece = textOf(event, "delta");
    if (type == "response.output_text.delta") {
        addText(open_[index], piece);
    } else if (type == "response.refusal.delta") {
        is_refused_ = true;
        addText(open_[index], piece);
    } else if (type == "response.reasoning_summary_text.delta" || type == "response.reasoning_text.delta") {
        addThought(open_[index], piece);
    } else if (type == "response.reasoning_summary_part.added") {
        if (open_[index].thought_size > 0) addThought(open_[index], "\n\n");
    } else if (type == "response.function_call_arguments.delta" && open_[index].call) {
        draft_.addArguments(*open_[index].call, piece);
    }
}

ResponsesAnswer::Item& ResponsesAnswer::begin(std::int64_t index, const json::object& item) {
    Item& state = open_[index];
    const std::string_view type = textOf(item, "type");
    if (type == "function_call" && !state.call) {
        state.call = draft_.beginCall(textOf(item, "name"), textOf(item, "call_id"));
        draft_.addArguments(*state.call, textOf(item, "arguments"));
    } else if (type == "message") {
        draft_.beginText();
    } else if (type == "reasoning") {
        draft_.beginReasoning({});
    }
    return state;
}

void ResponsesAnswer::end(std::int64_t index, const json::object& item) {
    const bool has_begun = open_.contains(index);
    Item& state = has_begun ? open_[index] : begin(index, item);
    if (state.is_done) return;
    state.is_done = true;
    const std::string_view type = textOf(item, "type");
    if (type == "message") {
        endMessage(state, item);
    } else if (type == "function_call") {
        if (!state.call) state.call = draft_.beginCall(textOf(item, "name"), textOf(item, "call_id"));
        if (draft_.call(*state.call).arguments.empty()) draft_.addArguments(*state.call, textOf(item, "arguments"));
    } else if (type == "reasoning") {
        if (state.thought_size == 0)
            eachText(item, "summary", [&](const json::object&, std::string_view text) { addThought(state, text); });
        if (state.thought_size == 0)
            eachText(item, "content", [&](const json::object&, std::string_view text) { addThought(state, text); });
    } else if (isOwnCall(item)) {
        addOwnCall(item);
    }
    items_.add(index, item, state.text_size);
}

/// Takes the text if it was not streamed, and the sources.
void ResponsesAnswer::endMessage(Item& state, const json::object& item) {
    const bool is_new = state.text_size == 0;
    std::vector<std::string> sources;
    eachText(item, "content", [&](const json::object& part, std::string_view text) {
        const std::string_view refusal = textOf(part, "refusal");
        is_refused_ = is_refused_ || !refusal.empty();
        if (is_new) addText(state, !refusal.empty() ? refusal : text);
        const json::array* const annotations = arrayOf(part, "annotations");
        if (annotations == nullptr) return;
        for (const json::value& each : *annotations) {
            if (each.is_object()) sources.push_back(stategraph::detail::jsonText(each));
        }
    });
    for (std::string& source : sources) {
        ProviderPart part{.kind = ProviderPartKind::source, .format = std::string(responses_format)};
        part.data = std::move(source);
        draft_.addProviderPart(std::move(part));
    }
}

void ResponsesAnswer::addText(Item& state, std::string_view piece) {
    state.text_size += piece.size();
    draft_.addText(piece);
}

void ResponsesAnswer::addThought(Item& state, std::string_view piece) {
    state.thought_size += piece.size();
    draft_.addReasoning(piece);
}

/// One item is both the call and its result. What may be large in it is kept once, with the result.
void ResponsesAnswer::addOwnCall(const json::object& item) {
    constexpr std::string_view ending = "_call";
    const std::string_view type = textOf(item, "type");
    const std::string_view name = textOf(item, "name");
    ProviderPart part{.kind = ProviderPartKind::call, .format = std::string(responses_format)};
    part.call_id = textOf(item, "id");
    part.name = !name.empty() ? name : type.substr(0, type.size() - ending.size());
    ProviderPart result = part;
    result.kind = ProviderPartKind::result;
    result.data = stategraph::detail::jsonText(item);
    json::object call = item;
    for (const char* const output : {"results", "outputs", "output", "result"}) call.erase(output);
    part.data = stategraph::detail::jsonText(call);
    draft_.addProviderPart(std::move(part));
    draft_.addProviderPart(std::move(result));
}

/// Some servers call every end completed, and say how it ended in the answer alone.
void ResponsesAnswer::takeEnd(std::string_view status, const json::object& response) {
    if (const std::string_view own = textOf(response, "status"); !own.empty()) status = own;
    if (status == "failed") {
        const json::value* const error = member(response, "error");
        if (error == nullptr || error->is_null()) throw brokenOff(speaker_, "ended its answer with an error");
        throw streamedError(speaker_, *error);
    }
    if (const json::array* const output = arrayOf(response, "output")) {
        for (std::size_t i = 0; i < output->size(); ++i) {  // items that were not streamed
            if (const json::object* const item = (*output)[i].if_object()) end(static_cast<std::int64_t>(i), *item);
        }
    }
    if (reply_.response_id.empty()) reply_.response_id = textOf(response, "id");
    if (reply_.model.empty()) reply_.model = textOf(response, "model");
    if (const json::object* const usage = objectOf(response, "usage")) takeUsage(*usage);
    finish_reason_ = status == "completed" ? FinishReason::stop : cutReasonOf(response);
}

void ResponsesAnswer::takeUsage(const json::object& usage) {
    Usage sum;
    sum.input_tokens = integerOf(usage, "input_tokens").value_or(0);
    sum.output_tokens = integerOf(usage, "output_tokens").value_or(0);
    if (const json::object* const output = objectOf(usage, "output_tokens_details"))
        sum.reasoning_tokens = integerOf(*output, "reasoning_tokens").value_or(0);
    if (const json::object* const input = objectOf(usage, "input_tokens_details")) {
        sum.cached_tokens = integerOf(*input, "cached_tokens").value_or(0);
        sum.cache_write_tokens = integerOf(*input, "cache_write_tokens").value_or(0);
    }
    usage_ = sum;
}

Reply ResponsesAnswer::finish() {
    draft_.checkEnd(finish_reason_, speaker_);
    reply_.message = draft_.finish(is_refused_ ? FinishReason::content_filter : *finish_reason_);
    reply_.message.usage = usage_;
    if (auto kept = items_.part(origin_)) reply_.message.content.emplace_back(std::move(*kept));
    return std::move(reply_);
}

}  // namespace stategraph::model::http
