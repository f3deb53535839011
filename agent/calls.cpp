#include "agent/calls.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <variant>

#include <stategraph/async.hpp>
#include <stategraph/detail/json_text.hpp>
#include <stategraph/detail/pause.hpp>
#include <stategraph/detail/utf8.hpp>
#include <stategraph/error.hpp>
#include <stategraph/functional.hpp>
#include <stategraph/update.hpp>

namespace stategraph::agent::detail {

namespace {

using model::Message;
using model::ToolCall;

constexpr std::size_t error_text_max = 4096;

Message failure(const ToolCall& call, std::string text) {
    if (text.size() > error_text_max) text = std::string(stategraph::detail::beginningOf(text, error_text_max)) + "…";
    return model::toolResult(call, Value("Error: " + stategraph::detail::withoutStrayBytes(text)), true);
}

// A value's JSON is at most this many times as long as its bytes.
constexpr std::size_t json_growth_max = 8;

/// Returns a result in the form that the model gets.
Message outputOf(const Tool& tool, const ToolCall& call, Value output, bool is_error = false) {
    Message message = model::toolResult(call, std::move(output), is_error);
    if (message.result->output.bytes().size() <= tool.result_max / json_growth_max) return message;
    const std::string text = message.result->text();
    if (text.size() <= tool.result_max) return message;
    std::string kept(stategraph::detail::beginningOf(text, tool.result_max));
    kept += "\n[The result was cut: these are the first " + std::to_string(kept.size()) + " of its " +
            std::to_string(text.size()) + " bytes. Ask for less.]";
    message.result->output = Value(std::move(kept));
    return message;
}

Update<State> resultOf(Message&& message) { return {add(&State::messages, std::move(message))}; }

/// Returns whether an error belongs to the run, and not to the tool; such an error ends the run.
bool isOfTheRun(const Error& error) noexcept {
    switch (error.code()) {
        case Errc::cancelled:
        case Errc::node_timeout:
        case Errc::saver_failed:
        case Errc::corrupt_checkpoint:
        case Errc::concurrent_update:
        case Errc::thread_busy:
        case Errc::lease_lost:
        case Errc::missing_checkpointer:
            return true;
        default:
            return false;
    }
}

/// Returns the current exception as a result for the model.
Message failureOf(const ToolCall& call) { return failure(call, failureUnderWay()); }

/// Reads and checks the arguments that the model wrote. Errors: text for the model that says what is wrong with them.
Value readArguments(const Tool& tool, const ToolCall& call) {
    const bool is_blank = call.arguments.find_first_not_of(" \t\r\n") == std::string::npos;
    Value arguments = parseJson(is_blank ? "{}" : call.arguments);
    return tool.check ? tool.check(std::move(arguments)) : arguments;
}

/// A call that is to be executed.
struct Ready {
    const Tool* tool;
    Value arguments;
};
/// A call that is ready or, if it must not be executed, its result.
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
        if (ready.tool->check) ready.arguments = ready.tool->check(std::move(ready.arguments));
    }
    return ready;
}

Message askClient(const Ready& ready, const ToolCall& call, Runtime& runtime) {
    const Question question = ClientRequest{call.id, call.provider_id, call.name, ready.arguments};
    ClientResult result = interrupt<ClientResult>(runtime, "result", Value(question));
    return outputOf(*ready.tool, call, std::move(result.output), result.is_error);
}

std::string listOf(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    return all.empty() ? "none" : all;
}

/// Returns why a call cannot be executed whatever its arguments are, or none.
std::optional<std::string> faultOfName(const Tool* tool, const ToolCall& call, const std::vector<std::string>& names) {
    if (tool == nullptr) return "there is no tool '" + call.name + "'; there are: " + listOf(names);
    if (!tool->isForProvider()) return {};
    return "the tool '" + call.name + "' is executed by the provider of the model, and cannot be called as a function";
}

/// Does everything that comes before the execution of a call.
Begun begin(const Plan& plan, const ToolCall& call, Runtime& runtime) {
    const Tool* const tool = plan.find(call.name);
    if (auto fault = faultOfName(tool, call, plan.names)) return failure(call, std::move(*fault));
    try {
        Begun begun = Ready{tool, readArguments(*tool, call)};
        if (plan.needsApproval(*tool, std::get<Ready>(begun).arguments, runtime.state<State>().approval)) {
            begun = askForApproval(std::get<Ready>(std::move(begun)), call, runtime);
        }
        if (tool->isForClient() && std::holds_alternative<Ready>(begun))
            begun = askClient(std::get<Ready>(begun), call, runtime);
        return begun;
    } catch (...) {
        return failureOf(call);
    }
}

/// The cached result of a call; always empty for a tool without a cache.
class Kept {
public:
    Kept(const Ready& ready, Runtime& runtime) {
        if (!ready.tool->cache) return;
        cached_.emplace(runtime, ready.tool->name(), *ready.tool->cache, std::string(ready.arguments.bytes()));
    }
    std::optional<Value> find() {
        auto bytes = cached_ ? cached_->find() : std::nullopt;
        if (!bytes) return {};
        return Value::fromCbor(std::move(*bytes));
    }
    void keep(const Value& output) {
        if (cached_) cached_->keep(output.bytes());
    }

private:
    std::optional<stategraph::detail::CachedCall> cached_;
};

Value execute(const Ready& ready, ToolContext& context) {
    Kept kept(ready, context.runtime());
    if (auto found = kept.find()) return std::move(*found);
    Value output = ready.tool->call(ready.arguments, context);
    kept.keep(output);
    return output;
}

Task<Value> executeAsync(const Ready& ready, ToolContext& context) {
    Kept kept(ready, context.runtime());
    if (auto found = kept.find()) co_return std::move(*found);
    Task<Value> asked = ready.tool->async_call(ready.arguments, context);
    Value output = co_await std::move(asked);
    kept.keep(output);
    co_return output;
}

}  // namespace

Update<State> failedCall(const ToolCall& call, const std::string& error) { return resultOf(failure(call, error)); }

std::optional<std::string> faultOf(const Plan& plan, const ToolCall& call, const std::vector<std::string>& offered) {
    const Tool* const tool = plan.find(call.name);
    if (auto fault = faultOfName(tool, call, offered)) return fault;
    if (std::find(offered.begin(), offered.end(), call.name) == offered.end())
        return "the tool '" + call.name + "' is not available in this step; available: " + listOf(offered);
    if (!plan.options.repair_call) return {};  // the tool's node checks the arguments
    try {
        readArguments(*tool, call);
    } catch (...) {
        return failureUnderWay();
    }
    return {};
}

std::string failureUnderWay() {
    try {
        throw;
    } catch (const NodeError& error) {
        return error.reason();
    } catch (const Error& error) {
        if (isOfTheRun(error)) throw;
        return error.message();
    } catch (...) {
        if (stategraph::detail::isPause(std::current_exception())) throw;
        return stategraph::detail::describe(std::current_exception());
    }
}

Update<State> callTool(const Plan& plan, const ToolCall& call, Runtime& runtime, OnFailure on_failure) {
    Begun begun = begin(plan, call, runtime);
    if (auto* const done = std::get_if<Message>(&begun)) return resultOf(std::move(*done));
    const Ready& ready = std::get<Ready>(begun);
    ToolContext context(runtime, call);
    try {
        const auto made = [&] { return execute(ready, context); };
        Value output = ready.tool->is_effect ? runtime.once("execute", made, ready.tool->on_doubt) : made();
        return resultOf(outputOf(*ready.tool, call, std::move(output)));
    } catch (...) {
        if (on_failure == OnFailure::throw_ || ready.tool->on_failure == OnToolFailure::end_run) throw;
        return resultOf(failureOf(call));
    }
}

Task<Update<State>> awaitTool(std::shared_ptr<const Plan> plan, const ToolCall& call, Runtime& runtime,
                              OnFailure on_failure) {
    Begun begun = begin(*plan, call, runtime);
    if (auto* const done = std::get_if<Message>(&begun)) co_return resultOf(std::move(*done));
    const Ready& ready = std::get<Ready>(begun);
    ToolContext context(runtime, call);
    std::optional<Message> result;
    try {
        const auto made = [&ready, &context] { return executeAsync(ready, context); };
        Task<Value> executed =
            ready.tool->is_effect ? onceAsync(runtime, "execute", made, ready.tool->on_doubt) : made();
        Value output = co_await std::move(executed);
        result = outputOf(*ready.tool, call, std::move(output));
    } catch (...) {
        if (on_failure == OnFailure::throw_ || ready.tool->on_failure == OnToolFailure::end_run) throw;
        result = failureOf(call);
    }
    co_return resultOf(std::move(*result));
}

}  // namespace stategraph::agent::detail
