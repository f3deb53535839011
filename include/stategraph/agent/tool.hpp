#pragma once
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <stategraph/agent/tool_command.hpp>
#include <stategraph/cache_policy.hpp>
#include <stategraph/json_schema.hpp>
#include <stategraph/model/message.hpp>
#include <stategraph/model/model.hpp>
#include <stategraph/retry.hpp>
#include <stategraph/runtime.hpp>
#include <stategraph/task.hpp>
#include <stategraph/value.hpp>

// Tools: functions whose call a model may request.
namespace stategraph::agent {

/// What a tool receives besides its arguments. Valid during its call.
class ToolContext {
public:
    ToolContext(Runtime& runtime, const model::ToolCall& call) noexcept : runtime_(runtime), call_(call) {}
    ToolContext(const ToolContext&) = delete;
    ToolContext& operator=(const ToolContext&) = delete;

    /// The runtime of the node that calls the tool. A tool may ask (`sg::interrupt`), sleep and call graphs, as any
    /// node may.
    Runtime& runtime() const noexcept { return runtime_; }
    const model::ToolCall& call() const noexcept { return call_; }
    /// Reports the progress of the call to readers of the stream's mode `custom`: {"call_id", "tool", "progress"}.
    void write(const Value& progress) const;
    /// Adds the tokens that the call has used, because it called a model itself (model::usageOf), to the turn's
    /// (State::usage), in the commit that stores the result. If the process dies between the end of the tool and that
    /// commit, the result is kept, and these tokens are not.
    void addUsage(const model::UsageByModel& usage) { usage_ = usage_ + usage; }
    const model::UsageByModel& usage() const noexcept { return usage_; }

private:
    Runtime& runtime_;
    const model::ToolCall& call_;
    model::UsageByModel usage_ = {};
};

/// Whether a call needs approval: always, never, or as a function of its arguments decides, `f(const Args&)` or
/// `f(const Value&)`. If the function throws, the call needs approval.
class ApprovalRule {
public:
    ApprovalRule() = default;
    ApprovalRule(bool always) {
        if (always) needs_ = [](const Value&) { return true; };
    }
    template <class F>
        requires std::is_class_v<F> && (!std::same_as<F, ApprovalRule>)
    ApprovalRule(F f) {
        using Args = typename stategraph::detail::FirstParameter<F, Value>::Type;
        needs_ = [f = std::move(f)](const Value& arguments) -> bool {
            if constexpr (std::same_as<Args, Value>) {
                return f(arguments);
            } else {
                return f(arguments.template as<Args>());
            }
        };
    }
    bool operator()(const Value& arguments) const noexcept;

private:
    std::function<bool(const Value&)> needs_;
};

/// Checks the arguments of a call before a person is asked and before the tool is called, and fills in what is missing.
/// If they are wrong, it throws an explanation, which the model receives. Several threads may call it at the same time.
using ArgumentCheck = std::function<Value(Value arguments)>;

/// What happens when a tool throws or, in its last attempt, takes too long.
enum class OnToolFailure : std::uint8_t {
    tell_model,  // the text of the failure is the call's result, and the turn continues
    end_run,     // the run ends with a NodeError, whose original() the tool threw; a resume calls the tool again
};

/// What becomes of the value that a tool returned.
using ToModel = std::function<model::ToolOutput(Value returned)>;

/// The options of a tool.
struct ToolOptions {
    /// The description that the model receives.
    std::string description = {};
    /// Whether a call needs approval.
    ApprovalRule approval = {};
    /// What to do about a call that was begun and whose end is unknown, because the process died: repeat it, or ask a
    /// person.
    OnDoubt on_doubt = OnDoubt::repeat;
    /// The JSON Schema of the arguments, for a tool that takes a Value; for other tools it is made from the type.
    std::string parameters = {};
    /// A further check of the arguments, for example by those parameters: `.check = sg::schemaCheck(text)`
    /// (stategraph/schema.hpp). It runs after the check by the type.
    ArgumentCheck check = {};
    /// How long one attempt may take, at least 1 ms; none: Options::tool_timeout. With this option or `retry`, the last
    /// attempt's failure, or the end of its time, is treated as `on_failure` says, and the tool has a node of its own,
    /// "tool.NAME". Not for tools that a client executes.
    std::optional<std::chrono::milliseconds> timeout = {};
    /// How a failed call is tried again; none: not at all.
    std::optional<RetryPolicy> retry = {};
    /// What happens when the call fails for good. What is wrong with its arguments, that it was declined, and the error
    /// that a client gives as its result are always told to the model.
    OnToolFailure on_failure = OnToolFailure::tell_model;
    /// Whether results are kept in CompileOptions::cache, if there is one, by the tool's name and the arguments. A
    /// cached result needs approval like any call. Failures are not kept. Not for tools that a client executes.
    std::optional<CallCache> cache = {};
    /// How many bytes of a result the model receives; at least 64. If a result is longer, its beginning is stored and
    /// sent as text, with a note of how much was cut.
    std::size_t result_max = 64U << 10U;
    /// Makes what is stored, and what the model receives, of what the function returned or a client gave; none: both
    /// are that value. A function that returns a model::ToolOutput needs none. It has no effects, because it may be
    /// called again; if it throws, the text is the call's result.
    ToModel to_model = {};
    /// How many bytes of files, as base64, the model receives of one result. Files above that are left out, with a line
    /// that names them.
    std::size_t files_max = 8U << 20U;
    /// Options of providers for the tool's declaration, by format (model::ToolDescription::extra).
    Value extra = {};
};

/// A tool in the form that agents take; `tool` creates it.
struct Tool {
    model::ToolDescription description;
    ApprovalRule approval = {};
    OnDoubt on_doubt = OnDoubt::repeat;
    /// Checks the arguments and may change them. None: the arguments are used as they are.
    ArgumentCheck check = {};
    /// Executes a call: at most one of `call` and `async_call` is set. If neither is, the provider executes the tool
    /// (ToolDescription::provider), or the caller that resumes the run does what is asked, and answers with the result.
    std::function<Value(const Value& arguments, ToolContext& context)> call = {};
    std::function<Task<Value>(const Value& arguments, ToolContext& context)> async_call = {};
    /// Whether the result is stored immediately, so that the function is not called again. Off for functions that store
    /// their own progress, such as a graph.
    bool is_effect = true;
    /// The limits and policies of ToolOptions.
    std::optional<std::chrono::milliseconds> timeout = {};
    std::optional<RetryPolicy> retry = {};
    OnToolFailure on_failure = OnToolFailure::tell_model;
    std::optional<CallCache> cache = {};
    std::size_t result_max = 64U << 10U;
    ToModel to_model = {};
    std::size_t files_max = 8U << 20U;
    /// Set by `tool` and `handOff`: what `call` returns then has the Command too.
    detail::CommandsOf commands = {};

    const std::string& name() const noexcept { return description.name; }
    bool isForProvider() const noexcept { return !description.provider.empty(); }
    bool isForClient() const noexcept { return !call && !async_call && !isForProvider(); }
    /// Whether its calls are tasks of a node of its own.
    bool hasOwnNode() const noexcept { return timeout || retry; }
};

namespace detail {

/// Keeps the function and the arguments alive as long as the coroutine awaits.
template <class Args, class F>
Task<Value> awaitTool(F f, Args arguments, ToolContext& context) {
    if constexpr (std::is_invocable_v<const F&, const Args&, ToolContext&>) {
        auto result = valueOf(f(arguments, context));
        co_return co_await std::move(result);
    } else {
        auto result = valueOf(f(arguments));
        co_return co_await std::move(result);
    }
}

template <class Args, class F>
decltype(auto) callTool(const F& f, const Args& arguments, ToolContext& context) {
    if constexpr (std::is_invocable_v<const F&, const Args&, ToolContext&>) {
        return f(arguments, context);
    } else if constexpr (std::is_invocable_v<const F&, const Args&>) {
        return f(arguments);
    } else {
        static_assert(std::is_invocable_v<const F&, const Args&>,
                      "stategraph: a tool's function is callable as f(const Args&) or f(const Args&, ToolContext&)");
    }
}

/// Reads the arguments strictly as a T, then calls the tool's own check.
template <class T>
ArgumentCheck checkedAs(ArgumentCheck own) {
    return [own = std::move(own)](Value arguments) -> Value {
        (void)arguments.asStrict<T>();
        return own ? own(std::move(arguments)) : arguments;
    };
}

Tool describedTool(std::string name, ToolOptions&& options, std::string parameters);

/// The ToModel of functions that return a model::ToolOutput. Another value, which a hook may have put in its place, is
/// the output.
model::ToolOutput readToolOutput(Value returned);

template <class R>
inline constexpr bool is_tool_output = std::same_as<R, model::ToolOutput>;
template <class T>
inline constexpr bool is_tool_output<Task<T>> = is_tool_output<T>;
template <class T, class S>
inline constexpr bool is_tool_output<std::pair<T, Command<S>>> = is_tool_output<T>;

}  // namespace detail

/// Creates a tool from a function of its arguments, `R f(const Args&)` or `R f(const Args&, ToolContext&)`, or a
/// coroutine that gives a Task<R>. Its JSON Schema is made from Args' table. It returns anything storable, a text for
/// the model, a model::ToolOutput with pictures or files for the model, or nothing. Several threads may call it at the
/// same time; the function of a coroutine is copied for each call. The model receives the text of what it throws,
/// unless ToolOptions::on_failure says otherwise.
///
///     agent::tool<City>("weather", {.description = "The weather of a city"},
///                       [](const City& city) { return forecast(city.name); })
///
/// If it returns a Command, or a pair of a result and a Command, the Command takes effect when all calls of the turn
/// have their results: its update is of State, and END as its target ends the turn, or with `graph = PARENT` both are
/// of the graph around the agent, which the agent leaves. It is stored with the result, so it is followed once, also
/// after a crash. See docs/agents.md, "Commands and hand-offs".
template <class Args, class F>
Tool tool(std::string name, ToolOptions options, F f) {
    std::string parameters = std::move(options.parameters);
    if constexpr (!std::same_as<Args, Value>) parameters = jsonSchema<Args>();
    Tool made = detail::describedTool(std::move(name), std::move(options), std::move(parameters));
    if constexpr (!std::same_as<Args, Value>) {
        made.check = detail::checkedAs<Args>(std::move(made.check));
    }
    using R = decltype(detail::callTool<Args>(std::declval<const F&>(), std::declval<const Args&>(),
                                              std::declval<ToolContext&>()));
    if constexpr (detail::is_tool_output<R>) made.to_model = detail::readToolOutput;
    made.commands = detail::commandsOf<R>();
    if constexpr (detail::is_task<R>) {
        made.async_call = [f = std::move(f)](const Value& arguments, ToolContext& context) {
            return detail::awaitTool<Args, F>(f, arguments.as<Args>(), context);
        };
    } else {
        made.call = [f = std::move(f)](const Value& arguments, ToolContext& context) -> Value {
            if constexpr (std::is_void_v<R>) {
                detail::callTool<Args>(f, arguments.as<Args>(), context);
                return {};
            } else {
                return detail::outputValue(detail::callTool<Args>(f, arguments.as<Args>(), context));
            }
        };
    }
    return made;
}

/// Does the same with the type of the arguments that the function takes:
///
///     agent::tool("weather", "The weather of a city", [](const City& city) { return forecast(city.name); })
template <class F>
Tool tool(std::string name, ToolOptions options, F f) {
    using Args = typename stategraph::detail::FirstParameter<F, Value>::Type;
    constexpr bool is_object = std::same_as<Args, Value> || stategraph::detail::HasFields<Args> ||
                               stategraph::detail::HasChannels<Args> || stategraph::detail::MapLike<Args>;
    static_assert(is_object, "stategraph: a tool's arguments are a struct with a fields() table");
    if constexpr (is_object) {
        return tool<Args, F>(std::move(name), std::move(options), std::move(f));
    } else {
        return {};
    }
}
template <class F>
Tool tool(std::string name, const char* description, F f) {
    return tool(std::move(name), ToolOptions{.description = description != nullptr ? description : ""}, std::move(f));
}

/// A tool that this program does not execute: a call pauses the run, and the caller that resumes it gives the result
/// (Agent::give).
template <class Args>
Tool clientTool(std::string name, ToolOptions options = {}) {
    std::string parameters = std::move(options.parameters);
    if constexpr (!std::same_as<Args, Value>) parameters = jsonSchema<Args>();
    Tool made = detail::describedTool(std::move(name), std::move(options), std::move(parameters));
    if constexpr (!std::same_as<Args, Value>) {
        made.check = detail::checkedAs<Args>(std::move(made.check));
    }
    return made;
}

namespace detail {
Tool handOffTool(std::string node, ToolOptions&& options);
}
/// The tool "transfer_to_NODE", which takes no arguments: the model calls it to leave the agent and to lead to this
/// node of the graph around it, for example another agent. The graph around it gets the conversation with the call and
/// its result, and the writes: `agent::handOff("billing", {.description = "For invoices"},
/// sg::set<&Desk::active>("billing"))`.
template <class... Writes>
Tool handOff(std::string node, ToolOptions options = {}, Writes... writes) {
    Tool made = detail::handOffTool(node, std::move(options));
    const auto command = [&] {
        if constexpr (sizeof...(Writes) == 0) {
            return stategraph::go(node);
        } else {
            return stategraph::go(node, stategraph::update(std::move(writes)...));
        }
    }();
    made.commands = detail::commandsOf<std::remove_const_t<decltype(command)>>();
    made.call = [node, command](const Value&, ToolContext&) {
        auto leaving = command;
        leaving.graph = PARENT;
        return detail::withCommand(Value("The conversation goes to '" + node + "'."), std::move(leaving));
    };
    return made;
}

/// A tool that the model's provider executes, such as its web search. `declaration` is a JSON object in the provider's
/// format, sent unchanged (model::ToolDescription::provider); if it has a "type" and a "name", the name must be this
/// one. Its calls and results are parts of the model's answer (model::ProviderPart). They are executed before this
/// program learns of them: no approval, limit or cache applies to them.
///
///     agent::providerTool("web_search", R"({"type":"web_search_20250305","name":"web_search","max_uses":5})")
Tool providerTool(std::string name, std::string declaration);

}  // namespace stategraph::agent
