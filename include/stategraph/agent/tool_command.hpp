#pragma once
#include <type_traits>
#include <utility>

#include <stategraph/command.hpp>
#include <stategraph/detail/node.hpp>
#include <stategraph/detail/state_schema.hpp>
#include <stategraph/task.hpp>
#include <stategraph/value.hpp>

// What a tool's function returns, as a value that is stored with its call: a result, a Command, or both.
namespace stategraph::agent::detail {

/// Whether a tool returns Commands (`tool`), and the state that their updates are of; null: they have none.
struct CommandsOf {
    bool is_given = false;
    const stategraph::detail::Schema& (*state)() = nullptr;
};

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<Task<T>> = true;

/// The Command type in what a tool returns; NoCommand if it returns none.
struct NoCommand {};
template <class R>
struct CommandIn {
    using Type = NoCommand;
};
template <class S>
struct CommandIn<Command<S>> {
    using Type = Command<S>;
};
template <class T, class S>
struct CommandIn<std::pair<T, Command<S>>> {
    using Type = Command<S>;
};
template <class R>
struct CommandIn<Task<R>> : CommandIn<R> {};

template <class C>
struct StateOfCommand {};
template <class S>
struct StateOfCommand<Command<S>> {
    using Type = S;
};
template <class R>
CommandsOf commandsOf() {
    using C = typename CommandIn<R>::Type;
    if constexpr (std::is_same_v<C, NoCommand>) {
        return {};
    } else {
        using S = typename StateOfCommand<C>::Type;
        static_assert(std::is_same_v<S, stategraph::detail::NoState> || ChannelState<S>,
                      "stategraph: a tool's Command has an update of a struct with channels(), or none");
        if constexpr (std::is_same_v<S, stategraph::detail::NoState>) {
            return {.is_given = true};
        } else {
            return {.is_given = true, .state = &stategraph::detail::schemaOf<S>};
        }
    }
}
/// What a tool with Commands returns, in the form that is stored with the call. `state` is null if the Command has no
/// update. Errors: InvalidArgumentError for a Command with answers.
Value withCommand(Value output, stategraph::detail::Writes& writes, const Targets& go_to, CommandGraph graph,
                  const stategraph::detail::Schema* state, bool has_answers);
template <class S>
Value withCommand(Value output, Command<S>&& command) {
    const CommandsOf commands = commandsOf<Command<S>>();
    const bool has_answers = command.answers.areGiven() || !command.resume.isNull();
    return withCommand(std::move(output), command.update, command.go_to, command.graph,
                       commands.state ? &commands.state() : nullptr, has_answers);
}

/// What a tool returned, as a value.
template <class R>
Value outputValue(R&& result) {
    return Value(std::forward<R>(result));
}
template <class S>
Value outputValue(Command<S>&& command) {
    return withCommand({}, std::move(command));
}
template <class T, class S>
Value outputValue(std::pair<T, Command<S>>&& result) {
    return withCommand(Value(std::move(result.first)), std::move(result.second));
}

template <class T>
Task<Value> valueOf(Task<T> task) {
    if constexpr (std::is_void_v<T>) {
        co_await std::move(task);
        co_return Value();
    } else {
        T result = co_await std::move(task);
        co_return outputValue(std::move(result));
    }
}

}  // namespace stategraph::agent::detail
