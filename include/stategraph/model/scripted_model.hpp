#pragma once
#include <functional>
#include <memory>
#include <vector>

#include <stategraph/model/model.hpp>

namespace stategraph::model {

/// A model for tests and examples that answers from a script, in pieces and without delay. It has no memory: only the
/// request decides which answer is next, so a run that resumes in another process continues in the script.
class ScriptedModel final : public Model {
public:
    using Answer = std::function<Message(const Request& request)>;

    /// Returns the answers in order: the n-th to a conversation with n - 1 messages of role assistant. Errors, when it
    /// is asked: ModelError if there are no more.
    explicit ScriptedModel(std::vector<Message> answers);
    /// Returns what `answer` returns, or throws what it throws. `answer` is called on the run's thread, and from
    /// several threads at once if there are several runs.
    explicit ScriptedModel(Answer answer) : answer_(std::move(answer)) {}

    Task<Reply> ask(Request request, const Asking& asking) const override;
    /// The model "scripted" of the provider "stategraph".
    ModelName name() const override { return {.provider = "stategraph", .model = "scripted"}; }

private:
    Answer answer_;
};

/// Makes a ScriptedModel as a shared pointer, which agents take.
std::shared_ptr<const Model> scripted(std::vector<Message> answers);
std::shared_ptr<const Model> scripted(ScriptedModel::Answer answer);

}  // namespace stategraph::model
