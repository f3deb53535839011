#include "agent/calls.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <stategraph/async.hpp>
#include <stategraph/detail/call_failure.hpp>
#include <stategraph/detail/doubt.hpp>
#include <stategraph/detail/json_text.hpp>
#include <stategraph/detail/pause.hpp>
#include <stategraph/error.hpp>
#include <stategraph/functional.hpp>
#include <stategraph/update.hpp>

#include "agent/commands.hpp"
#include "agent/tool_result.hpp"
#include "agent/traces.hpp"

namespace stategraph::agent::detail {

namespace {

using model::Message;
using model::ToolCall;

constexpr const char* approval_key = "approval";  // of the question for an approval

Update<State> resultOf(Message&& message) { return {add(&State::messages, std::move(message))}; }
/// `amendment` is what a person's arguments change in the message that has the call; `usage` what the call has cost.
Update<State> resultOf(std::optional<Message>&& amendment, Message&& message, const model::UsageByModel& usage = {}) {
    Update<State> update;
    if (!usage.isEmpty()) update.with(add(&State::usage, usage));
    if (amendment) update.with(add(&State::messages, std::move(*amendment)));
    update.with(add(&State::messages, std::move(message)));
    return update;
}

/// Returns what a call that was executed adds to the state.
Update<State> resultOf(std::optional<Message>&& amendment, const Tool& tool, const ToolCall& call, Value&& returned,
                       Runtime& runtime, const model::UsageByModel& usage) {
    Returned made = takeApart(tool, call.id, std::move(returned));
    Message message = describedResult(resultMessage(tool, call, std::move(made.output)), runtime);
    Update<State> update = resultOf(std::move(amendment), std::move(message), usage);
    if (made.command) update.with(add(&State::commands, std::move(*made.command)));
    return update;
}

/// Returns whether an error belongs to the run, and not to the tool; such an error ends the run.
bool isOfTheRun(const Error& error) noexcept {
    switch (error.code()) {
        case Errc::cancelled:
        case Errc::node_timeout:
        case Errc::thread_busy:
        case Errc::missing_checkpointer:
            return true;
        default:
            return false;
    }
}

/// Returns the current exception as a result for the model.
Message failureOf(const ToolCall& call) { return failedResult(call, failureUnderWay()); }

/// Reads and checks the arguments that the model wrote. Errors: text for the model that says what is wrong with them.
Value readArguments(const Tool& tool, const ToolCall& call) {
    const bool is_blank = call.arguments.find_first_not_of(" \t\r\n") == std::string::npos;
    Value arguments = parseJson(is_blank ? "{}" : call.arguments);
    if (tool.check) arguments = tool.check(std::move(arguments));
    return arguments.asStrict<Value>();  // no member occurs twice, so that everybody reads the same one
}

/// A call that is to be executed.
struct Ready {
    const Tool* tool;
    Value arguments;
};
/// The result of a call that is not executed here; with a Command if a replay gives what a tool had returned.
struct Given {
    Message message;
    std::optional<Value> command = {};
};
/// A call that is ready or, if it must not be executed, its result.
using Begun = std::variant<Ready, Given>;

Update<State> resultOf(std::optional<Message>&& amendment, Given&& given) {
    Update<State> update = resultOf(std::move(amendment), std::move(given.message));
    if (given.command) update.with(add(&State::commands, std::move(*given.command)));
    return update;
}

/// Returns what a person's arguments change in the message that has the call, so that the conversation has the call as
/// it was executed.
std::optional<Message> amendmentOf(const ToolCall& call, const Value& arguments, const State& state) {
    const auto& messages = state.messages;
    const auto found = std::find_if(messages.rbegin(), messages.rend(), [&](const Message& message) {
        return std::ranges::find(message.calls, call.id, &ToolCall::id) != message.calls.end();
    });
    if (found == messages.rend()) return {};
    Message amendment;
    amendment.role = model::Role::amend;
    amendment.id = found->id;
    amendment.calls.push_back({call.id, call.provider_id, call.name, arguments.toJson()});
    return amendment;
}

Message declined(const ToolCall& call, const Decision& decision) {
    return failedResult(
        call, decision.reason.empty() ? "The call was not approved." : "The call was not approved: " + decision.reason);
}

Begun askForApproval(Ready ready, const ToolCall& call, Runtime& runtime, std::optional<Message>& amendment) {
    const Question question = ApprovalRequest{call.id, call.provider_id, call.name, ready.arguments};
    Decision decision = interrupt<Decision>(runtime, approval_key, Value(question));
    if (!decision.approved) return Given{declined(call, decision)};
    if (decision.arguments) {
        std::optional<Message> made = amendmentOf(call, *decision.arguments, runtime.state<State>());
        ready.arguments = std::move(*decision.arguments);
        if (ready.tool->check) ready.arguments = ready.tool->check(std::move(ready.arguments));
        amendment = std::move(made);
    }
    return ready;
}

Given askClient(const Ready& ready, const ToolCall& call, Runtime& runtime) {
    const Question question = ClientRequest{call.id, call.provider_id, call.name, ready.arguments};
    ClientResult result = interrupt<ClientResult>(runtime, "result", Value(question));
    Returned made = takeApart(*ready.tool, call.id, std::move(result.output));
    return {resultMessage(*ready.tool, call, std::move(made.output), result.is_error), std::move(made.command)};
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

/// Does everything that comes before the execution of a call. `amendment` is set if a person has edited the call.
Begun begin(const Plan& plan, const ToolCall& call, Runtime& runtime, std::optional<Message>& amendment) {
    const Tool* const tool = plan.find(call.name);
    if (auto fault = faultOfName(tool, call, plan.names)) return Given{failedResult(call, std::move(*fault))};
    try {
        Begun begun = Ready{tool, readArguments(*tool, call)};
        if (plan.needsApproval(*tool, std::get<Ready>(begun).arguments, runtime.state<State>().approval)) {
            begun = askForApproval(std::get<Ready>(std::move(begun)), call, runtime, amendment);
        }
        if (tool->isForClient() && std::holds_alternative<Ready>(begun))
            begun = askClient(std::get<Ready>(begun), call, runtime);
        return begun;
    } catch (...) {
        return Given{failureOf(call)};
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

/// The hooks around the execution of a call, and the execution itself.
class ToolChain {
public:
    ToolChain(const Plan& plan, const Ready& ready, const ToolCall& call, ToolContext& context)
        : plan_(plan),
          ready_(ready),
          context_(context),
          use_{*ready.tool, call, ready.arguments, context.runtime().state<State>(), context} {}
    ToolChain(const ToolChain&) = delete;
    ToolChain& operator=(const ToolChain&) = delete;

    /// The chain must live until the task has ended.
    Task<Value> run() { return runFrom(0); }

private:
    Task<Value> runFrom(std::size_t at) {
        const std::vector<Middleware>& all = plan_.options.middleware;
        while (at < all.size() && !all[at].around_tool) ++at;
        if (at < all.size()) {
            const NextTool next = [this, at] { return runFrom(at + 1); };
            Task<Value> rest = all[at].around_tool(use_, next);
            co_return co_await std::move(rest);
        }
        if (ready_.tool->call) co_return execute(ready_, context_);
        Task<Value> executed = executeAsync(ready_, context_);
        co_return co_await std::move(executed);
    }

    const Plan& plan_;
    const Ready& ready_;
    ToolContext& context_;
    ToolUse use_;
};

/// Says in the question about a call in doubt what the call was.
void describeIfAsked(const Ready& ready, const ToolCall& call, Runtime& runtime) {
    if (!ready.tool->is_effect || ready.tool->on_doubt != OnDoubt::ask) return;
    const Question question = DoubtRequest{call.id, call.provider_id, call.name, ready.arguments};
    stategraph::detail::describeDoubt(runtime, Value(question));
}

/// Returns the answer, or none if it is one to a question of another kind: such an answer lacks the member.
template <class T>
std::optional<T> answerAs(const Value& answer, const char* member) {
    try {
        if (!answer.as<std::map<std::string, Value>>().contains(member)) return {};
        return answer.as<T>();
    } catch (const WrongTypeError&) {
        return {};
    }
}

/// Returns whether the library asks for an approval of this call, and not only the tool itself.
bool isApproved(const Plan& plan, const State& state, const Tool& tool, const ToolCall& call) {
    try {
        return plan.needsApproval(tool, readArguments(tool, call), state.approval);
    } catch (const std::exception&) {
        return false;  // the call is faulty, and has asked nobody
    }
}

}  // namespace

Said saidOf(const Plan& plan, const State& state, const ToolCall& call, const std::vector<Value>& answers,
            bool has_begun) {
    Said said;
    const Tool* const tool = plan.find(call.name);
    for (const Value& answer : answers) {
        if (const auto decision = answerAs<Decision>(answer, "approved")) {
            if (decision->approved && decision->arguments) {
                if (auto amendment = amendmentOf(call, *decision->arguments, state))
                    said.amendments.push_back(std::move(*amendment));
            } else if (!decision->approved && !has_begun && tool != nullptr && isApproved(plan, state, *tool, call)) {
                said.result = declined(call, *decision);
            }
        } else if (tool != nullptr && tool->isForClient()) {
            if (auto given = answerAs<ClientResult>(answer, "output"))
                said.result = resultMessage(*tool, call, std::move(given->output), given->is_error);
        } else if (tool != nullptr && tool->is_effect && tool->on_doubt == OnDoubt::ask && has_begun) {
            const auto known = answerAs<std::map<std::string, Value>>(answer, "result");
            if (known && known->size() == 1) said.result = resultMessage(*tool, call, known->at("result"));
        }
    }
    return said;
}

std::vector<Message> executedCall(const Plan& plan, const State& state, const ToolCall& call, Value output,
                                  const std::vector<Value>& answers) {
    std::vector<Message> messages = saidOf(plan, state, call, answers, true).amendments;
    const Tool* const tool = plan.find(call.name);
    messages.push_back(tool != nullptr ? resultMessage(*tool, call, takeApart(*tool, call.id, std::move(output)).output)
                                       : model::toolResult(call, std::move(output)));
    return messages;
}

Update<State> failedCall(const ToolCall& call, const std::string& error) { return resultOf(failedResult(call, error)); }

Update<State> failedNode(const ToolCall& call, const std::string& error, Runtime& runtime) {
    std::optional<Message> amendment;
    const auto answer = stategraph::detail::answerOfNode(runtime, approval_key);
    const auto decision = answer ? answerAs<Decision>(*answer, "approved") : std::nullopt;
    if (decision && decision->approved && decision->arguments)
        amendment = amendmentOf(call, *decision->arguments, runtime.state<State>());
    return resultOf(std::move(amendment), failedResult(call, error));
}

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
    if (stategraph::detail::isOfTheThread(std::current_exception())) throw;
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
    std::optional<Message> amendment;
    Begun begun = begin(plan, call, runtime, amendment);
    if (auto* const done = std::get_if<Given>(&begun)) return resultOf(std::move(amendment), std::move(*done));
    const Ready& ready = std::get<Ready>(begun);
    ToolContext context(runtime, call);
    describeIfAsked(ready, call, runtime);
    describeCall(*ready.tool, call, ready.arguments, runtime);
    ToolChain chain(plan, ready, call, context);
    try {
        const auto made = [&] { return plan.wrapsTools() ? syncWait(chain.run()) : execute(ready, context); };
        Value output = ready.tool->is_effect ? runtime.once(execution_key, made, ready.tool->on_doubt) : made();
        return resultOf(std::move(amendment), *ready.tool, call, std::move(output), runtime, context.usage());
    } catch (...) {
        if (on_failure == OnFailure::throw_ || ready.tool->on_failure == OnToolFailure::end_run) throw;
        return resultOf(std::move(amendment), describedResult(failureOf(call), runtime), context.usage());
    }
}

Task<Update<State>> awaitTool(std::shared_ptr<const Plan> plan, const ToolCall& call, Runtime& runtime,
                              OnFailure on_failure) {
    std::optional<Message> amendment;
    Begun begun = begin(*plan, call, runtime, amendment);
    if (auto* const done = std::get_if<Given>(&begun)) co_return resultOf(std::move(amendment), std::move(*done));
    const Ready& ready = std::get<Ready>(begun);
    ToolContext context(runtime, call);
    describeIfAsked(ready, call, runtime);
    describeCall(*ready.tool, call, ready.arguments, runtime);
    ToolChain chain(*plan, ready, call, context);
    std::optional<Update<State>> result;
    try {
        const auto made = [&] { return plan->wrapsTools() ? chain.run() : executeAsync(ready, context); };
        Task<Value> executed =
            ready.tool->is_effect ? onceAsync(runtime, execution_key, made, ready.tool->on_doubt) : made();
        Value output = co_await std::move(executed);
        result = resultOf(std::move(amendment), *ready.tool, call, std::move(output), runtime, context.usage());
    } catch (...) {
        if (on_failure == OnFailure::throw_ || ready.tool->on_failure == OnToolFailure::end_run) throw;
        result = resultOf(std::move(amendment), describedResult(failureOf(call), runtime), context.usage());
    }
    co_return *std::move(result);
}

}  // namespace stategraph::agent::detail
