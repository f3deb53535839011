#pragma once
#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <stategraph/detail/node.hpp>
#include <stategraph/json_schema.hpp>
#include <stategraph/model/message.hpp>
#include <stategraph/model/model.hpp>
#include <stategraph/runtime.hpp>
#include <stategraph/task.hpp>
#include <stategraph/value.hpp>

// Tools: functions that a model may ask for.
namespace stategraph::agent {

/// What a tool has beside its arguments. Valid during its call.
class ToolContext {
public:
    ToolContext(Runtime& runtime, const model::ToolCall& call) noexcept : runtime_(runtime), call_(call) {}
    ToolContext(const ToolContext&) = delete;
    ToolContext& operator=(const ToolContext&) = delete;

    /// Of the node that calls the tool. A tool may ask (`sg::interrupt`), sleep and call graphs, as any node.
    Runtime& runtime() const noexcept { return runtime_; }
    const model::ToolCall& call() const noexcept { return call_; }
    /// Tells those who read the stream's mode `custom` how far the call is: {"call_id", "tool", "progress"}.
    void write(const Value& progress) const;

private:
    Runtime& runtime_;
    const model::ToolCall& call_;
};

/// Whether somebody must approve a call: always or never, or as a function of its arguments says, `f(const Args&)` or
/// `f(const Value&)`. A function that throws says yes.
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

struct ToolOptions {
    /// What the model is told about it.
    std::string description = {};
    ApprovalRule approval = {};
    /// What is done about a call of which only the beginning is known, because the process died: it is made again, or
    /// somebody is asked.
    OnDoubt on_doubt = OnDoubt::repeat;
    /// JSON Schema of the arguments of a tool that takes a Value; else it is made from the type.
    std::string parameters = {};
};

/// A tool as an agent takes it; `tool` makes it.
struct Tool {
    model::ToolDescription description;
    ApprovalRule approval = {};
    OnDoubt on_doubt = OnDoubt::repeat;
    /// Throws what is wrong with the arguments. None: they are taken as they are.
    std::function<void(const Value& arguments)> check = {};
    /// One of these, or neither: then whoever resumes the run does what is asked, and answers with the result.
    std::function<Value(const Value& arguments, ToolContext& context)> call = {};
    std::function<Task<Value>(const Value& arguments, ToolContext& context)> async_call = {};
    /// Whether its result is stored as soon as it is there, and the function not called again. Off for what does so
    /// itself, such as a graph.
    bool is_effect = true;

    const std::string& name() const noexcept { return description.name; }
    bool isForClient() const noexcept { return !call && !async_call; }
};

namespace detail {

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<Task<T>> = true;

template <class T>
Task<Value> valueOf(Task<T> task) {
    if constexpr (std::is_void_v<T>) {
        co_await std::move(task);
        co_return Value();
    } else {
        T result = co_await std::move(task);
        co_return Value(std::move(result));
    }
}

/// The function and the arguments live as long as what it awaits.
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
    } else {
        static_assert(std::is_invocable_v<const F&, const Args&>,
                      "stategraph: a tool's function is callable as f(const Args&) or f(const Args&, ToolContext&)");
        return f(arguments);
    }
}

Tool describedTool(std::string name, ToolOptions&& options, std::string parameters);

}  // namespace detail

/// A tool from a function of its arguments, `R f(const Args&)` or `R f(const Args&, ToolContext&)`, or a coroutine
/// that gives a Task<R>. Its JSON Schema is made from Args' table. What it returns is anything storable, a text for
/// the model, or nothing. It is called from several threads at once if calls are; a coroutine's function is copied for
/// each call. What it throws is told to the model.
///
///     agent::tool<City>("weather", {.description = "The weather of a city"}, [](const City& city) { return
/// forecast(city.name); })
template <class Args, class F>
Tool tool(std::string name, ToolOptions options, F f) {
    std::string parameters = std::move(options.parameters);
    if constexpr (!std::same_as<Args, Value>) parameters = jsonSchema<Args>();
    Tool made = detail::describedTool(std::move(name), std::move(options), std::move(parameters));
    if constexpr (!std::same_as<Args, Value>) {
        made.check = [](const Value& arguments) { (void)arguments.asStrict<Args>(); };
    }
    using R = decltype(detail::callTool<Args>(std::declval<const F&>(), std::declval<const Args&>(),
                                              std::declval<ToolContext&>()));
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
                return Value(detail::callTool<Args>(f, arguments.as<Args>(), context));
            }
        };
    }
    return made;
}

/// A tool that this program does not execute: a call pauses the run, and whoever resumes it gives the result
/// (Agent::give).
template <class Args>
Tool clientTool(std::string name, ToolOptions options = {}) {
    std::string parameters = std::move(options.parameters);
    if constexpr (!std::same_as<Args, Value>) parameters = jsonSchema<Args>();
    Tool made = detail::describedTool(std::move(name), std::move(options), std::move(parameters));
    if constexpr (!std::same_as<Args, Value>) {
        made.check = [](const Value& arguments) { (void)arguments.asStrict<Args>(); };
    }
    return made;
}

}  // namespace stategraph::agent
