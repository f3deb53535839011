#pragma once
#include <concepts>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <stategraph/command.hpp>
#include <stategraph/detail/schema.hpp>

// Nodes and routers without their types: what the facade makes of users' callables, and all that the engine sees of them.
namespace stategraph {
class Runtime;

namespace detail {

/// What a task produced, as the node left it.
struct TaskResult {
    Writes writes;
    std::vector<Target> go_to;
    bool to_parent = false;
};

/// What a node takes as its input.
struct InputType {
    TypeKey type = nullptr;
    const Schema* schema = nullptr;    // of a state or a part of one; null: a payload
    const ValueOps* payload = nullptr;  // how a payload of this type is stored; null: it cannot be sent
};

/// A node's callable.
struct NodeAction {
    using Call = void (*)(const void* callable, const void* input, Runtime& runtime, TaskResult& result);
    std::shared_ptr<void> callable;
    Call call = nullptr;
    InputType input;
};

/// Where a router puts what it chose. Errors: InvalidUpdateError for a target that does not exist.
class RouteSink {
public:
    void to(std::string_view target);
    void send(std::string_view node, const AnyValue& payload);

    struct Impl;
    explicit RouteSink(Impl& impl) noexcept : impl_(&impl) {}

private:
    Impl* impl_;
};

/// A router's callable.
struct RouterAction {
    using Call = void (*)(const void* callable, const void* state, Runtime& runtime, RouteSink& sink);
    std::shared_ptr<void> callable;
    Call call = nullptr;
};

// One instantiation for each callable's type, and nothing else of shared_ptr.
template <class F>
std::shared_ptr<void> own(F&& callable) {
    using Stored = std::decay_t<F>;
    return std::shared_ptr<void>(static_cast<void*>(new Stored(std::forward<F>(callable))),
                                 +[](void* stored) { delete static_cast<Stored*>(stored); });
}

template <class R, class S>
concept NodeReturn = std::same_as<R, Update<S>> || std::same_as<R, Command<S>>;

template <class S>
void keepResult(Update<S>&& update, TaskResult& result) {
    static_cast<Writes&>(result.writes) = std::move(static_cast<Writes&>(update));
}

template <class S>
void keepResult(Command<S>&& command, TaskResult& result) {
    static_cast<Writes&>(result.writes) = std::move(static_cast<Writes&>(command.update));
    result.go_to.assign(command.go_to.begin(), command.go_to.end());
    result.to_parent = command.graph == CommandGraph::parent;
}

template <class T>
InputType inputTypeOf() {
    InputType input{.type = typeKey<T>()};
    if constexpr (ChannelState<T>) input.schema = &schemaOf<T>();
    if constexpr (Storable<T>) input.payload = &value_ops<T>;
    return input;
}

/// How a node of a graph over S takes an In from what the engine passes; specialised where that is not an In.
template <class S, class In>
struct NodeInput {
    static InputType type() { return inputTypeOf<In>(); }
    static const In& from(const void* input, Runtime&) noexcept { return *static_cast<const In*>(input); }
};

/// Wraps `f(const In&)` or `f(const In&, Runtime&)` returning Update<S> or Command<S>.
template <class S, class In, class F>
NodeAction makeNode(F&& f) {
    using Stored = std::decay_t<F>;
    constexpr bool with_runtime = std::is_invocable_v<const Stored&, const In&, Runtime&>;
    constexpr bool callable = with_runtime || std::is_invocable_v<const Stored&, const In&>;
    static_assert(callable, "stategraph: a node must be callable as f(const State&) or f(const State&, sg::Runtime&), and be const");
    NodeAction action;
    if constexpr (callable) {
        static constexpr auto invoke = [](const Stored& stored, const In& input, Runtime& runtime) -> decltype(auto) {
            if constexpr (with_runtime) {
                return stored(input, runtime);
            } else {
                (void)runtime;
                return stored(input);
            }
        };
        using Returned = std::invoke_result_t<decltype(invoke), const Stored&, const In&, Runtime&>;
        static_assert(NodeReturn<Returned, S>, "stategraph: a node must return sg::Update<State> or sg::Command<State>");
        if constexpr (NodeReturn<Returned, S>) {
            action.callable = own(std::forward<F>(f));
            action.input = NodeInput<S, In>::type();
            action.call = [](const void* stored, const void* input, Runtime& runtime, TaskResult& result) {
                const Stored& node = *static_cast<const Stored*>(stored);
                if constexpr (std::same_as<Returned, Update<S>>) {
                    result.writes.replace([&] { return invoke(node, NodeInput<S, In>::from(input, runtime), runtime); });
                } else {
                    keepResult<S>(invoke(node, NodeInput<S, In>::from(input, runtime), runtime), result);
                }
            };
        }
    }
    return action;
}

// The first parameter of a callable that is not overloaded and not generic, without const and reference; else `Fallback`.
template <class F, class Fallback>
struct FirstParameter {
    using Type = Fallback;
};
template <class C, class R, class A, class... Rest>
std::type_identity<std::remove_cvref_t<A>> firstOf(R (C::*)(A, Rest...) const);
template <class C, class R, class A, class... Rest>
std::type_identity<std::remove_cvref_t<A>> firstOf(R (C::*)(A, Rest...) const noexcept);
template <class C, class R, class A, class... Rest>
std::type_identity<std::remove_cvref_t<A>> firstOf(R (C::*)(A, Rest...));
template <class F, class Fallback>
    requires requires { firstOf(&F::operator()); }
struct FirstParameter<F, Fallback> {
    using Type = typename decltype(firstOf(&F::operator()))::type;
};
template <class R, class A, class... Rest, class Fallback>
struct FirstParameter<R (*)(A, Rest...), Fallback> {
    using Type = std::remove_cvref_t<A>;
};

/// Puts what a router returned into the sink: a name, a Send, several of either, Targets.
template <class R>
void route(const R& chosen, RouteSink& sink) {
    if constexpr (std::convertible_to<const R&, std::string_view>) {
        sink.to(chosen);
    } else if constexpr (std::same_as<R, Send>) {
        sink.send(chosen.node(), chosen.payload());
    } else if constexpr (std::same_as<R, Target>) {
        if (chosen.isSend()) {
            sink.send(chosen.node(), chosen.payload());
        } else {
            sink.to(chosen.node());
        }
    } else {
        for (const auto& each : chosen) route(each, sink);
    }
}

template <class R>
inline constexpr bool routable_element =
    std::convertible_to<const R&, std::string_view> || std::same_as<R, Send> || std::same_as<R, Target>;
template <class R>
consteval bool routable() {
    if constexpr (routable_element<R>) {
        return true;
    } else if constexpr (requires(const R& r) { *r.begin(); r.end(); }) {
        return routable_element<std::remove_cvref_t<decltype(*std::declval<const R&>().begin())>>;
    } else {
        return false;
    }
}

/// Wraps `f(const S&)` or `f(const S&, Runtime&)` that chooses where to go.
template <class S, class F>
RouterAction makeRouter(F&& f) {
    using Stored = std::decay_t<F>;
    constexpr bool with_runtime = std::is_invocable_v<const Stored&, const S&, Runtime&>;
    constexpr bool callable = with_runtime || std::is_invocable_v<const Stored&, const S&>;
    static_assert(callable, "stategraph: a router must be callable as f(const State&) or f(const State&, sg::Runtime&), and be const");
    RouterAction action;
    if constexpr (callable) {
        static constexpr auto invoke = [](const Stored& stored, const S& state, Runtime& runtime) -> decltype(auto) {
            if constexpr (with_runtime) {
                return stored(state, runtime);
            } else {
                (void)runtime;
                return stored(state);
            }
        };
        using Returned = std::remove_cvref_t<std::invoke_result_t<decltype(invoke), const Stored&, const S&, Runtime&>>;
        static_assert(routable<Returned>(),
                      "stategraph: a router must return a node's name, a sg::Send, a list of either, or sg::Targets");
        if constexpr (routable<Returned>()) {
            action.callable = own(std::forward<F>(f));
            action.call = [](const void* stored, const void* state, Runtime& runtime, RouteSink& sink) {
                route<Returned>(invoke(*static_cast<const Stored*>(stored), *static_cast<const S*>(state), runtime), sink);
            };
        }
    }
    return action;
}

}  // namespace detail
}  // namespace stategraph
