#include "agent/calls.hpp"

#include <exception>
#include <string>
#include <utility>
#include <variant>

#include <stategraph/async.hpp>
#include <stategraph/error.hpp>
#include <stategraph/update.hpp>

namespace stategraph::agent::detail {

namespace {

using model::Message;
using model::ToolCall;

constexpr std::size_t error_text_max = 4096;

Message failure(const ToolCall& call, std::string text) {
    if (text.size() > error_text_max) {
        std::size_t end = error_text_max;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not within a character
        text = text.substr(0, end) + "…";
    }
    return model::toolResult(call, Value("Error: " + text), true);
}

Update<State> resultOf(Message&& message) { return {add(&State::messages, std::move(message))}; }

/// Whether an error is the run's, and not the tool's: the run ends with it.
bool isOfTheRun(const Error& error) noexcept {
    switch (error.code()) {
        case Errc::cancelled:
        case Errc::node_timeout:
        case Errc::saver_failed:
        case Errc::corrupt_checkpoint:
        case Errc::concurrent_update:
        case Errc::thread_busy:
        case Errc::missing_checkpointer:
            return true;
        default:
            return false;
    }
}

/// The exception under way, as a result for the model. Questions and sleeps are no std::exception, and pass.
Message failureUnderWay(const ToolCall& call) {
    try {
        throw;
    } catch (const NodeError& error) {
        return failure(call, error.reason());
    } catch (const Error& error) {
        if (isOfTheRun(error)) throw;
        return failure(call, error.message());
    } catch (const std::exception& error) {
        return failure(call, error.what());
    }
}

/// The arguments as the model wrote them, checked. Errors: what is wrong with them, for the model.
Value readArguments(const Tool& tool, const ToolCall& call) {
    const bool is_blank = call.arguments.find_first_not_of(" \t\r\n") == std::string::npos;
    Value arguments = parseJson(is_blank ? "{}" : call.arguments);
    if (tool.check) tool.check(arguments);
    return arguments;
}

/// A call that is to be executed.
struct Ready {
    const Tool* tool;
    Value arguments;
};
/// Or its result, if it is not.
using Begun = std::variant<Ready, Message>;

Begun askForApproval(Ready ready, const ToolCall& call, Runtime& runtime) {
    const Question question = ApprovalRequest{call.id, call.provider_id, call.name, ready.arguments};
    Decision decision = interrupt<Decision>(runtime, "approval", Value(question));
    if (!decision.approved) {
        return failure(call, decision.reason.empty() ? "The call was not approved."
                                                     : "The call was not approved: " + decision.reason);
    }
    if (decision.arguments) {
        ready.arguments = std::move(*decision.arguments);
        if (ready.tool->check) ready.tool->check(ready.arguments);
    }
    return ready;
}

Message askClient(const Ready& ready, const ToolCall& call, Runtime& runtime) {
    const Question question = ClientRequest{call.id, call.provider_id, call.name, ready.arguments};
    ClientResult result = interrupt<ClientResult>(runtime, "result", Value(question));
    return model::toolResult(call, std::move(result.output), result.is_error);
}

/// All of a call that comes before its execution.
Begun begin(const Plan& plan, const ToolCall& call, Runtime& runtime) {
    const Tool* const tool = plan.find(call.name);
    if (tool == nullptr) return failure(call, "there is no tool '" + call.name + "'; there are: " + plan.toolNames());
    try {
        Begun begun = Ready{tool, readArguments(*tool, call)};
        if (plan.needsApproval(*tool, std::get<Ready>(begun).arguments, runtime.state<State>().approval)) {
            begun = askForApproval(std::get<Ready>(std::move(begun)), call, runtime);
        }
        if (tool->isForClient() && std::holds_alternative<Ready>(begun))
            begun = askClient(std::get<Ready>(begun), call, runtime);
        return begun;
    } catch (const std::exception&) {
        return failureUnderWay(call);
    }
}

}  // namespace

Update<State> callTool(const Plan& plan, const ToolCall& call, Runtime& runtime) {
    Begun begun = begin(plan, call, runtime);
    if (auto* const done = std::get_if<Message>(&begun)) return resultOf(std::move(*done));
    const Ready& ready = std::get<Ready>(begun);
    ToolContext context(runtime, call);
    try {
        const auto execute = [&] { return ready.tool->call(ready.arguments, context); };
        Value output = ready.tool->is_effect ? runtime.once("execute", execute, ready.tool->on_doubt) : execute();
        return resultOf(model::toolResult(call, std::move(output)));
    } catch (const std::exception&) {
        return resultOf(failureUnderWay(call));
    }
}

Task<Update<State>> awaitTool(std::shared_ptr<const Plan> plan, const ToolCall& call, Runtime& runtime) {
    Begun begun = begin(*plan, call, runtime);
    if (auto* const done = std::get_if<Message>(&begun)) co_return resultOf(std::move(*done));
    const Ready& ready = std::get<Ready>(begun);
    ToolContext context(runtime, call);
    std::optional<Message> result;
    try {
        const auto execute = [&ready, &context] { return ready.tool->async_call(ready.arguments, context); };
        Task<Value> executed =
            ready.tool->is_effect ? onceAsync(runtime, "execute", execute, ready.tool->on_doubt) : execute();
        Value output = co_await std::move(executed);
        result = model::toolResult(call, std::move(output));
    } catch (const std::exception&) {
        result = failureUnderWay(call);
    }
    co_return resultOf(std::move(*result));
}

}  // namespace stategraph::agent::detail
