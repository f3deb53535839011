#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/model/model.hpp>

#include "model/http/provider_error.hpp"

namespace stategraph::model::http {

/// The listener of an answer. It knows whether anything was reported.
class Listener {
public:
    /// `tell` may be empty, and must outlive this object.
    explicit Listener(const std::function<void(const Delta&)>& tell) : tell_(&tell) {}
    void tell(const Delta& delta) {
        if (!*tell_) return;
        has_heard_ = true;
        (*tell_)(delta);
    }
    bool hasHeard() const noexcept { return has_heard_; }

private:
    const std::function<void(const Delta&)>* tell_;
    bool has_heard_ = false;
};

/// A message that is being built. Each piece is reported immediately. Consecutive pieces of the same kind become one
/// part.
class AnswerDraft {
public:
    explicit AnswerDraft(Listener& listener) : listener_(&listener) {}

    void addText(std::string_view piece);
    void addReasoning(std::string_view piece);
    /// These begin a new part, to which the next piece of the same kind belongs.
    void beginText();
    void beginReasoning(std::string_view signature);
    /// Adds to the last part, which must be reasoning.
    void addSignature(std::string_view piece);

    /// Adds a complete part.
    void addProviderPart(ProviderPart part);
    /// Adds a picture or another file. It is not reported as a piece, because readers receive the whole message.
    void addFile(File file);

    /// Returns its place among the calls. A call without a name is reported when `nameCall` names it.
    std::size_t beginCall(std::string_view name, std::string_view provider_id);
    /// Gives a name to a call that was begun without one. The call is reported, with its arguments so far.
    void nameCall(std::size_t call, std::string_view name);
    void addArguments(std::size_t call, std::string_view piece);
    ToolCall& call(std::size_t place) { return message_.calls[place]; }
    /// What has come so far.
    const Message& message() const noexcept { return message_; }

    /// Checks that the answer ended, and that each call has a name. Errors: ModelError of the speaker.
    void checkEnd(const std::optional<FinishReason>& reason, const Speaker& speaker) const;
    /// Returns the message. Its finish reason fits its calls, even if the provider gives another, unless the answer was
    /// cut off. Parts without content are left out. Call it once.
    Message finish(FinishReason reason);

private:
    Listener* listener_;
    Message message_;
};

}  // namespace stategraph::model::http
