#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include <stategraph/agent/middleware.hpp>
#include <stategraph/task.hpp>
#include <stategraph/update.hpp>

#include "agent/plan.hpp"

namespace stategraph::agent::detail {

/// The hooks of an agent's middleware around one call of the model.
class ModelChain {
public:
    ModelChain(const Plan& plan, const State& state, Runtime& runtime, model::ToolChoice choice);

    const ModelCall& call() const noexcept { return call_; }
    /// Calls all hooks; `ask` makes the call itself, as the hooks have changed it. The reply is empty if a hook has
    /// ended the turn instead. The plan and `ask` must live until the task has ended.
    Task<model::Reply> run(const NextModel& ask) { return runFrom(0, ask); }
    /// Returns the tools that the hooks have left. Errors: InvalidArgumentError if the call cannot be made so.
    std::vector<model::ToolDescription> offeredTools() const;
    void setReported() noexcept { call_.has_reported_ = true; }

    /// The reason with which a hook has ended the turn; empty if none has.
    const std::string& endReason() const noexcept { return call_.end_reason_; }
    /// Whether there is an answer to store.
    bool hasAnswer() const noexcept { return call_.has_answer_; }
    /// Adds what the hooks have kept and used.
    void addTo(Update<State>& update) const;

private:
    Task<model::Reply> runFrom(std::size_t at, const NextModel& ask);
    void enter(std::size_t at) { call_.current_ = plan_.options.middleware[at].name; }

    const Plan& plan_;
    ModelCall call_;
};

}  // namespace stategraph::agent::detail
