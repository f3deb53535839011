#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/error.hpp>
#include <stategraph/model/scripted_model.hpp>

namespace stategraph::model {

namespace {

/// How long a piece is at most if the next one takes its time, about as long as a real model's.
constexpr std::size_t paced_bytes = 6;

bool continuesCharacter(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// Passes on the text in pieces like a model's tokens: words, each with the blank before it, or parts of them.
template <class Take>
void inPieces(std::string_view text, std::size_t bytes_max, Take take) {
    while (!text.empty()) {
        std::size_t end = std::min({text.find(' ', 1), text.size(), bytes_max});
        while (end < text.size() && continuesCharacter(text[end])) ++end;
        take(text.substr(0, end));
        text.remove_prefix(end);
    }
}

std::vector<Delta> piecesOf(const Message& message, std::size_t bytes_max) {
    std::vector<Delta> pieces;
    const auto add = [&](const Delta& piece) { pieces.push_back(piece); };
    for (const Part& part : message.content) {
        if (const auto* text = std::get_if<Text>(&part)) {
            inPieces(text->text, bytes_max, [&](std::string_view piece) { add({Delta::Kind::text, piece}); });
        } else if (const auto* thought = std::get_if<Reasoning>(&part)) {
            inPieces(thought->text, bytes_max, [&](std::string_view piece) { add({Delta::Kind::reasoning, piece}); });
        } else if (const auto* own = std::get_if<ProviderPart>(&part)) {
            if (own->kind != ProviderPartKind::metadata && own->kind != ProviderPartKind::options)
                add({.kind = Delta::Kind::provider, .part = own});
        }
    }
    for (std::size_t i = 0; i < message.calls.size(); ++i) {
        const ToolCall& call = message.calls[i];
        add({Delta::Kind::call, {}, i, call.name, call.provider_id});
        inPieces(call.arguments, bytes_max, [&](std::string_view piece) { add({Delta::Kind::arguments, piece, i}); });
    }
    return pieces;
}

}  // namespace

ScriptedModel::ScriptedModel(std::vector<Message> answers, std::chrono::milliseconds pause) : pause_(pause) {
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
    const bool waits = asking.runtime != nullptr && pause_.count() > 0;
    if (!asking.tell && !waits) co_return reply;
    for (const Delta& piece : piecesOf(reply.message, waits ? paced_bytes : std::string::npos)) {
        if (asking.tell) asking.tell(piece);
        if (!waits) continue;
        Task<> pause = sleepFor(*asking.runtime, pause_);
        co_await std::move(pause);
    }
    co_return reply;
}

std::shared_ptr<const Model> scripted(std::vector<Message> answers, std::chrono::milliseconds pause) {
    return std::make_shared<const ScriptedModel>(std::move(answers), pause);
}
std::shared_ptr<const Model> scripted(ScriptedModel::Answer answer, std::chrono::milliseconds pause) {
    return std::make_shared<const ScriptedModel>(std::move(answer), pause);
}

}  // namespace stategraph::model
