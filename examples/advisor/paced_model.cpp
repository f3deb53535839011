#include "paced_model.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/async.hpp>

namespace advisor {

namespace sg = stategraph;
namespace model = stategraph::model;

namespace {

/// A piece of an answer that has not been reported yet.
struct Piece {
    model::Delta::Kind kind = model::Delta::Kind::text;
    std::string text = {};
    std::size_t call = 0;
};

/// The pieces of a real model are about this long.
constexpr std::size_t piece_bytes = 6;

bool continuesCharacter(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// Cuts a text into pieces, between characters.
void addPieces(std::vector<Piece>& pieces, model::Delta::Kind kind, std::string_view text, std::size_t call = 0) {
    while (!text.empty()) {
        std::size_t end = std::min(piece_bytes, text.size());
        while (end < text.size() && continuesCharacter(text[end])) ++end;
        pieces.push_back({kind, std::string(text.substr(0, end)), call});
        text.remove_prefix(end);
    }
}

std::vector<Piece> piecesOf(const model::Message& message) {
    std::vector<Piece> pieces;
    for (const model::Part& part : message.content) {
        if (const auto* thought = std::get_if<model::Reasoning>(&part)) {
            addPieces(pieces, model::Delta::Kind::reasoning, thought->text);
        } else if (const auto* text = std::get_if<model::Text>(&part)) {
            addPieces(pieces, model::Delta::Kind::text, text->text);
        }
    }
    for (std::size_t i = 0; i < message.calls.size(); ++i) {
        pieces.push_back({model::Delta::Kind::call, {}, i});
        addPieces(pieces, model::Delta::Kind::arguments, message.calls[i].arguments, i);
    }
    return pieces;
}

class PacedModel final : public model::Model {
public:
    PacedModel(model::ScriptedModel::Answer script, std::chrono::milliseconds pause)
        : script_(std::move(script)), pause_(pause) {}

    sg::Task<model::Reply> ask(model::Request request, const model::Asking& asking) const override {
        model::Reply reply;
        reply.model = "scripted";
        reply.message = script_(request);
        reply.message.finish_reason =
            reply.message.calls.empty() ? model::FinishReason::stop : model::FinishReason::tool_calls;
        for (const Piece& piece : piecesOf(reply.message)) {
            model::Delta delta{piece.kind, piece.text, piece.call};
            if (piece.kind == model::Delta::Kind::call) {
                delta.name = reply.message.calls[piece.call].name;
                delta.id = reply.message.calls[piece.call].provider_id;
            }
            if (asking.tell) asking.tell(delta);
            if (asking.runtime == nullptr || pause_.count() == 0) continue;
            // Because it gets the runtime, the pause ends with CancelledError if the run is stopped.
            sg::Task<> pause = sg::sleepFor(*asking.runtime, pause_);
            co_await std::move(pause);
        }
        co_return reply;
    }

private:
    model::ScriptedModel::Answer script_;
    std::chrono::milliseconds pause_;
};

}  // namespace

std::shared_ptr<const model::Model> pacedModel(model::ScriptedModel::Answer script, std::chrono::milliseconds pause) {
    return std::make_shared<const PacedModel>(std::move(script), pause);
}

}  // namespace advisor
