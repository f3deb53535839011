#include <stategraph/agent/state.hpp>

#include <stategraph/error.hpp>
#include <stategraph/fields.hpp>
#include <stategraph/stream.hpp>

namespace stategraph::agent {
namespace {

/// The data of an event of the mode `messages`, as far as it is read here.
struct PieceOfMessage {
    bool delta = false;
    Value message = {};
    static constexpr auto fields() {
        return stategraph::fields(field("delta", &PieceOfMessage::delta), field("message", &PieceOfMessage::message));
    }
};

}  // namespace

std::optional<std::string> textIn(const StreamEvent& event) {
    if (event.mode != StreamMode::messages) return {};
    try {
        const PieceOfMessage told = event.data.as<PieceOfMessage>();
        if (told.delta) {
            Piece piece = told.message.as<Piece>();
            return piece.role == model::Role::assistant ? std::move(piece.content) : std::nullopt;
        }
        const auto message = told.message.as<model::Message>();
        if (message.role != model::Role::assistant || message.text().empty()) return {};
        return message.text();
    } catch (const WrongTypeError&) {  // a message of another kind
        return {};
    }
}

}  // namespace stategraph::agent
