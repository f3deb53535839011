#include "model/http/answer_draft.hpp"

#include <utility>

namespace stategraph::model::http {

namespace {

template <class P>
P* lastAs(Message& message) {
    return message.content.empty() ? nullptr : std::get_if<P>(&message.content.back());
}

bool isEmpty(const Part& part) {
    if (const auto* text = std::get_if<Text>(&part)) return text->text.empty();
    if (const auto* thought = std::get_if<Reasoning>(&part)) return thought->text.empty() && thought->signature.empty();
    return false;
}

}  // namespace

void AnswerDraft::addText(std::string_view piece) {
    if (piece.empty()) return;
    if (lastAs<Text>(message_) == nullptr) beginText();
    lastAs<Text>(message_)->text += piece;
    listener_->tell({Delta::Kind::text, piece});
}

void AnswerDraft::addReasoning(std::string_view piece) {
    if (piece.empty()) return;
    if (lastAs<Reasoning>(message_) == nullptr) beginReasoning({});
    lastAs<Reasoning>(message_)->text += piece;
    listener_->tell({Delta::Kind::reasoning, piece});
}

void AnswerDraft::beginText() { message_.content.emplace_back(Text()); }

void AnswerDraft::beginReasoning(std::string_view signature) {
    Reasoning thought;
    thought.signature = signature;
    message_.content.emplace_back(std::move(thought));
}

void AnswerDraft::addSignature(std::string_view piece) {
    if (auto* thought = lastAs<Reasoning>(message_)) thought->signature += piece;
}

void AnswerDraft::addProviderPart(ProviderPart part) {
    message_.content.emplace_back(std::move(part));
    listener_->tell({.kind = Delta::Kind::provider, .part = lastAs<ProviderPart>(message_)});
}

void AnswerDraft::addFile(File file) { message_.content.emplace_back(std::move(file)); }

std::size_t AnswerDraft::beginCall(std::string_view name, std::string_view provider_id) {
    ToolCall call;
    call.name = name;
    call.provider_id = provider_id;
    message_.calls.push_back(std::move(call));
    const std::size_t place = message_.calls.size() - 1;
    if (!name.empty()) listener_->tell({Delta::Kind::call, {}, place, name, provider_id});
    return place;
}

void AnswerDraft::nameCall(std::size_t call, std::string_view name) {
    ToolCall& named = message_.calls[call];
    named.name = name;
    listener_->tell({Delta::Kind::call, {}, call, named.name, named.provider_id});
    if (!named.arguments.empty()) listener_->tell({Delta::Kind::arguments, named.arguments, call});
}

void AnswerDraft::addArguments(std::size_t call, std::string_view piece) {
    if (piece.empty()) return;
    message_.calls[call].arguments += piece;
    if (!message_.calls[call].name.empty()) listener_->tell({Delta::Kind::arguments, piece, call});
}

void AnswerDraft::checkEnd(const std::optional<FinishReason>& reason, const Speaker& speaker) const {
    if (!reason) throw brokenOff(speaker, "ended its answer without saying why: it was cut off");
    for (const ToolCall& call : message_.calls) {
        if (call.name.empty()) throw brokenOff(speaker, "asked for a call of a tool without its name");
    }
}

Message AnswerDraft::finish(FinishReason reason) {
    Message message = std::move(message_);
    message.role = Role::assistant;
    std::erase_if(message.content, isEmpty);
    const bool is_cut = reason == FinishReason::length || reason == FinishReason::content_filter;
    if (!is_cut && !message.calls.empty()) reason = FinishReason::tool_calls;
    if (reason == FinishReason::tool_calls && message.calls.empty()) reason = FinishReason::stop;
    message.finish_reason = reason;
    for (ToolCall& call : message.calls) {
        if (call.arguments.empty()) call.arguments = "{}";
    }
    return message;
}

}  // namespace stategraph::model::http
