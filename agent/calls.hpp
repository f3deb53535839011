#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/task.hpp>

#include "agent/plan.hpp"

namespace stategraph::agent::detail {

/// The key of the effect that is the execution of a call (Runtime::once).
inline constexpr const char* execution_key = "execute";

/// What a model is told of a call that waited when the user wrote again.
inline constexpr const char* not_approved_in_time =
    "The call was not run: it waited for an approval, which was not given before the user wrote again.";
inline constexpr const char* client_gave_nothing =
    "The call has no result: the client had given none when the user wrote again. It may have run.";

/// What happens if a tool throws.
enum class OnFailure : std::uint8_t {
    tell,   // the exception becomes the call's result, unless the tool's on_failure says otherwise
    throw_  // the node fails: its policy tries again, and finally its handler, if any, creates the result (failedCall)
};

/// Handles one call of a tool: checks its arguments, has it approved if that is needed, executes it once, and adds its
/// result. A faulty call gets a result that tells the model what is wrong.
Update<State> callTool(const Plan& plan, const model::ToolCall& call, Runtime& runtime, OnFailure on_failure);
/// Does the same for a tool that is a coroutine.
Task<Update<State>> awaitTool(std::shared_ptr<const Plan> plan, const model::ToolCall& call, Runtime& runtime,
                              OnFailure on_failure);
/// Returns the result of a call that is not executed.
Update<State> failedCall(const model::ToolCall& call, const std::string& error);
/// Returns the result of a call whose node, which is not the common one, has failed for good: also what a person had
/// changed in the call. Call it in the node's error handler.
Update<State> failedNode(const model::ToolCall& call, const std::string& error, Runtime& runtime);

/// Returns what a call that was executed adds to the conversation, if its task was then left unfinished. `answers` are
/// those to its task's questions.
std::vector<model::Message> executedCall(const Plan& plan, const State& state, const model::ToolCall& call,
                                         Value output, const std::vector<Value>& answers);

/// What people have said of a call.
struct Said {
    std::vector<model::Message> amendments = {};  // what they have changed in the message that has the call
    std::optional<model::Message> result = {};    // theirs, or that they have declined the call
};
/// Returns what the answers say of a call whose task has been left unfinished, and was not executed as far as is known.
Said saidOf(const Plan& plan, const State& state, const model::ToolCall& call, const std::vector<Value>& answers,
            bool has_begun);

/// A call that is not executed, and why: the payload of the node "refused_tool".
struct RefusedCall {
    model::ToolCall call = {};
    std::string fault = {};
    static constexpr auto fields() {
        return stategraph::fields(field("call", &RefusedCall::call), field("fault", &RefusedCall::fault));
    }
};
/// Returns why the call cannot be executed, as a text for the model, or none if it can. `offered` is the names of the
/// tools that the model was offered. The arguments are checked only if the agent repairs calls. Errors: those of the
/// run itself.
std::optional<std::string> faultOf(const Plan& plan, const model::ToolCall& call,
                                   const std::vector<std::string>& offered);
/// Returns the text of the exception that is being handled. Errors of the run itself, questions and sleeps are thrown
/// again.
std::string failureUnderWay();

}  // namespace stategraph::agent::detail
