#pragma once
#include <memory>
#include <string_view>

#include <stategraph/model/model.hpp>
#include <stategraph/observer.hpp>
#include <stategraph/task.hpp>

#include "agent/plan.hpp"

// Reports what an agent does to observers, by OpenTelemetry's conventions for generative AI.
namespace stategraph::agent::detail {

/// Whose calls are reported.
struct Traced {
    Runtime& runtime;
    const model::Prices& prices;
};

/// Calls a model. If the run is observed, the call is reported as "chat MODEL" when it has ended. What `traced` and
/// `asking` refer to must live until the task has ended. Errors: those of Model::ask.
Task<model::Reply> askModel(std::shared_ptr<const model::Model> model, model::Request request,
                            const model::Asking& asking, Traced traced);

/// Says that the run is the agent's: "invoke_agent NAME".
void describeAgent(const Plan& plan, Runtime& runtime);
/// Says that the task executes a call of a tool, with the arguments as they were checked: "execute_tool NAME".
void describeCall(const Tool& tool, const model::ToolCall& call, const Value& arguments, Runtime& runtime);
/// Adds the result to that, and returns it.
model::Message describedResult(model::Message&& message, Runtime& runtime);

}  // namespace stategraph::agent::detail
