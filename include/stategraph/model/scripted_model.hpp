#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <stategraph/model/model.hpp>

namespace stategraph::model {

/// A model for tests and examples that answers from a script, in pieces: words. It has no memory: only the request
/// decides which answer is next, so a run that resumes in another process continues in the script. With a `pause` it
/// waits after each piece, which then has some six bytes, as if the next one had to be computed. It waits only if a
/// node asks it, whose run can be stopped meanwhile.
class ScriptedModel final : public Model {
public:
    using Answer = std::function<Message(const Request& request)>;

    /// Returns the answers in order: the n-th to a conversation with n - 1 messages of role assistant. Errors, when it
    /// is asked: ModelError if there are no more.
    explicit ScriptedModel(std::vector<Message> answers, std::chrono::milliseconds pause = {});
    /// Returns what `answer` returns, or throws what it throws. `answer` is called on the run's thread, and from
    /// several threads at once if there are several runs.
    explicit ScriptedModel(Answer answer, std::chrono::milliseconds pause = {})
        : answer_(std::move(answer)), pause_(pause) {}

    Task<Reply> ask(Request request, const Asking& asking) const override;
    /// The model "scripted" of the provider "stategraph".
    ModelName name() const override { return {.provider = "stategraph", .model = "scripted"}; }

private:
    Answer answer_;
    std::chrono::milliseconds pause_ = {};
};

/// Makes a ScriptedModel as a shared pointer, which agents take.
std::shared_ptr<const Model> scripted(std::vector<Message> answers, std::chrono::milliseconds pause = {});
std::shared_ptr<const Model> scripted(ScriptedModel::Answer answer, std::chrono::milliseconds pause = {});

}  // namespace stategraph::model
