#include <algorithm>
#include <string>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/model/scripted_model.hpp>

namespace stategraph::model {

namespace {

/// Passes on the text in pieces like a model's tokens: words, each with the blank before it.
template <class Take>
void inPieces(std::string_view text, Take take) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' ', 1), text.size());
        take(text.substr(0, end));
        text.remove_prefix(end);
    }
}

void tell(const Message& message, const Asking& asking) {
    for (const Part& part : message.content) {
        if (const auto* text = std::get_if<Text>(&part)) {
            inPieces(text->text, [&](std::string_view piece) { asking.tell({Delta::Kind::text, piece}); });
        } else if (const auto* thought = std::get_if<Reasoning>(&part)) {
            inPieces(thought->text, [&](std::string_view piece) { asking.tell({Delta::Kind::reasoning, piece}); });
        } else if (const auto* own = std::get_if<ProviderPart>(&part)) {
            if (own->kind != ProviderPartKind::metadata && own->kind != ProviderPartKind::options)
                asking.tell({.kind = Delta::Kind::provider, .part = own});
        }
    }
    for (std::size_t i = 0; i < message.calls.size(); ++i) {
        const ToolCall& call = message.calls[i];
        asking.tell({Delta::Kind::call, {}, i, call.name, call.provider_id});
        inPieces(call.arguments, [&](std::string_view piece) { asking.tell({Delta::Kind::arguments, piece, i}); });
    }
}

}  // namespace

ScriptedModel::ScriptedModel(std::vector<Message> answers) {
    answer_ = [answers = std::move(answers)](const Request& request) -> Message {
        const auto isAnswer = [](const Message& message) { return message.role == Role::assistant; };
        const auto said =
            static_cast<std::size_t>(std::count_if(request.messages.begin(), request.messages.end(), isAnswer));
        if (said < answers.size()) return answers[said];
        throw ModelError(
            "the script has " + std::to_string(answers.size()) + " answers, and the conversation has them all; add one",
            {});
    };
}

Task<Reply> ScriptedModel::ask(Request request, const Asking& asking) const {
    if (asking.stop.stop_requested()) throw CancelledError("the model was stopped before it answered");
    Reply reply;
    reply.message = answer_(request);
    reply.message.role = Role::assistant;
    if (!reply.message.finish_reason) {
        reply.message.finish_reason = reply.message.calls.empty() ? FinishReason::stop : FinishReason::tool_calls;
    }
    reply.model = "scripted";
    if (asking.tell) tell(reply.message, asking);
    co_return reply;
}

std::shared_ptr<const Model> scripted(std::vector<Message> answers) {
    return std::make_shared<const ScriptedModel>(std::move(answers));
}
std::shared_ptr<const Model> scripted(ScriptedModel::Answer answer) {
    return std::make_shared<const ScriptedModel>(std::move(answer));
}

}  // namespace stategraph::model
