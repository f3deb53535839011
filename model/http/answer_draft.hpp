#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <stategraph/model/model.hpp>

namespace stategraph::model::http {

/// The listener of an answer, and whether anything was reported to it.
class Listener {
public:
    /// `tell` may be empty, and stays as long as this.
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

/// A message that is being built. Each piece is reported immediately. Pieces of the same kind in a row become one part.
class AnswerDraft {
public:
    explicit AnswerDraft(Listener& listener) : listener_(&listener) {}

    void addText(std::string_view piece);
    void addReasoning(std::string_view piece);
    /// Begins a part of its own, which the next piece of the same kind belongs to.
    void beginText();
    void beginReasoning(std::string_view signature);
    /// To the last part, which must be reasoning.
    void addSignature(std::string_view piece);

    /// A part of its own, whole.
    void addProviderPart(ProviderPart part);

    /// Gives its place among the calls.
    std::size_t beginCall(std::string_view name, std::string_view provider_id);
    void addArguments(std::size_t call, std::string_view piece);
    ToolCall& call(std::size_t place) { return message_.calls[place]; }
    std::size_t calls() const noexcept { return message_.calls.size(); }

    /// The message, with a reason that fits its calls: they decide, and not what the provider says, unless the answer
    /// was cut off. Parts without content are left out. To be called once.
    Message finish(FinishReason reason);

private:
    Listener* listener_;
    Message message_;
};

}  // namespace stategraph::model::http
