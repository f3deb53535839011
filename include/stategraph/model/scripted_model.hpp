#pragma once
#include <functional>
#include <memory>
#include <vector>

#include <stategraph/model/model.hpp>

namespace stategraph::model {

/// A model for tests and examples: it says what it is told to say, in pieces, at once. It remembers nothing: which
/// answer comes next follows from the request alone, so that a run that goes on in another process goes on in the
/// script.
class ScriptedModel final : public Model {
public:
    using Answer = std::function<Message(const Request& request)>;

    /// Gives the answers in order: the n-th to a conversation with n - 1 messages of the assistant's. Errors, when it
    /// is asked: ModelError if there are no more.
    explicit ScriptedModel(std::vector<Message> answers);
    /// Gives what `answer` returns, or throws what it throws. `answer` is called on the thread of the run, from
    /// several threads at once if runs are.
    explicit ScriptedModel(Answer answer) : answer_(std::move(answer)) {}

    Task<Reply> ask(Request request, const Asking& asking) const override;

private:
    Answer answer_;
};

/// As a shared pointer, which agents take.
std::shared_ptr<const Model> scripted(std::vector<Message> answers);
std::shared_ptr<const Model> scripted(ScriptedModel::Answer answer);

}  // namespace stategraph::model
