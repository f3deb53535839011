#pragma once
#include <concepts>
#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <stategraph/command.hpp>
#include <stategraph/detail/opt_in.hpp>
#include <stategraph/detail/schema.hpp>

// Nodes and routers without their types: what users' callables become, and all that the engine sees of them.
namespace stategraph {
class Runtime;

namespace detail {

/// The result of a task, as the node returned it.
struct TaskResult {
    Writes writes;
    std::vector<Target> go_to;
    bool to_parent = false;
    const Schema* written = nullptr;  // the schema of the channels in `writes`; null: that of the node's graph
};

/// The input that a node takes.
struct InputType {
    TypeKey type = nullptr;
    const Schema* schema = nullptr;     // the schema of a state or a part of one; null: the input is a payload
    const ValueOps* payload = nullptr;  // how a payload of this type is stored; null: it cannot be sent
};

/// A node's callable.
struct NodeAction {
    using Call = void (*)(const void* callable, const void* input, Runtime& runtime, TaskResult& result);
    using Start = Task<void> (*)(const void* callable, const void* input, Runtime& runtime, TaskResult& result);
    std::shared_ptr<void> callable;
    Call call = nullptr;
    InputType input;
    /// Starts a coroutine, whose arguments must exist until it ends. Null: the node blocks.
    Start start = nullptr;
    /// Whether it returns Commands, so that the node needs no edge.
    bool gives_commands = false;
};

/// Receives the targets that a router chose. Errors: InvalidUpdateError for a target that does not exist.
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

// Called for all callables (src/graph/builder.cpp), so that the type of each node needs no shared_ptr code of its own.
std::shared_ptr<void> ownValue(void* value, void (*destroy)(void*));
std::shared_ptr<void> ownBytes(const void* bytes, std::size_t size, std::size_t alignment);

template <class Stored>
void destroyStored(void* stored) {
    ::delete static_cast<Stored*>(stored);
}

template <class F>
std::shared_ptr<void> own(F&& callable) {
    using Stored = std::decay_t<F>;
    if constexpr (std::is_trivially_copyable_v<Stored>) {
        const Stored stored(static_cast<F&&>(callable));
        return ownBytes(&stored, sizeof(Stored), alignof(Stored));
    } else {
        return ownValue(::new Stored(static_cast<F&&>(callable)), destroyStored<Stored>);
    }
}

// Whether R is a Command with an update of another state, which is for the graph around the node's.
template <class R>
inline constexpr bool is_state_command = false;
template <class C>
inline constexpr bool is_state_command<Command<C>> = ChannelState<C>;
/// One write, an update, a command, or nothing.
template <class R, class S>
concept NodeReturn = std::same_as<R, Update<S>> || std::same_as<R, Command<S>> || std::same_as<R, Command<NoState>> ||
                     is_write_on<R, S> || std::is_void_v<R> || is_state_command<R>;

/// How a coroutine that a node returned is driven; specialised where the coroutine's type is known
/// (stategraph/async.hpp).
template <class R>
struct AsyncNode {};
template <class R, class S>
concept AsyncNodeReturn = requires { typename AsyncNode<R>::Value; } && NodeReturn<typename AsyncNode<R>::Value, S>;

template <class S>
void keepResult(Writes&& update, TaskResult& result) {
    result.writes = static_cast<Writes&&>(update);
}

template <class S, class W>
    requires(!std::is_void_v<StateOfWrite<W>>)
void keepResult(W&& write, TaskResult& result) {
    result.writes = Update<S>(std::forward<W>(write));
}

template <class S, class C>
void keepResult(Command<C>&& command, TaskResult& result) {
    result.writes = static_cast<Writes&&>(command.update);
    result.go_to = static_cast<Targets&&>(command.go_to).take();
    result.to_parent = command.graph == CommandGraph::parent;
    if constexpr (!std::is_same_v<C, S> && !std::is_same_v<C, NoState>) result.written = &schemaOf<C>();
}

template <class T>
InputType inputTypeOf() {
    InputType input{.type = typeKey<T>()};
    if constexpr (ChannelState<T>) input.schema = &schemaOf<T>();
    if constexpr (Storable<T>) input.payload = &value_ops<T>;
    return input;
}

/// Converts what the engine passes to the In that a node of a graph over S takes; specialised where the two differ.
template <class S, class In>
struct NodeInput {
    static InputType type() { return inputTypeOf<In>(); }
    static const In& from(const void* input, Runtime&) noexcept { return *static_cast<const In*>(input); }
};

template <class F, class In>
concept TakesRuntime = requires(const F& f, const In& in, Runtime& runtime) { f(in, runtime); };
template <class F, class In>
concept TakesInput = requires(const F& f, const In& in) { f(in); };

template <class In, class Stored>
decltype(auto) callWith(const Stored& f, const In& in, Runtime& runtime) {
    if constexpr (TakesRuntime<Stored, In>) {
        return f(in, runtime);
    } else {
        return f(in);
    }
}

template <class S, class In, class Stored>
void callNode(const void* stored, const void* input, Runtime& runtime, TaskResult& result) {
    const Stored& f = *static_cast<const Stored*>(stored);
    auto&& holder = NodeInput<S, In>::from(input, runtime);  // the input, or the object that makes and keeps it
    const In& in = holder;
    using Returned = std::remove_cvref_t<decltype(callWith<In>(f, in, runtime))>;
    if constexpr (std::is_void_v<Returned>) {
        callWith<In>(f, in, runtime);
        result.writes.clear();
    } else if constexpr (std::is_same_v<Returned, Update<S>> || is_write_on<Returned, S>) {
        static_assert(sizeof(Update<S>) == sizeof(Writes) && std::is_standard_layout_v<Update<S>>);
        Writes::Replacement place(result.writes);
        ::new (place.at())
            // Constructed in its final place, because moving it costs more than making it.
            Update<S>(callWith<In>(f, in, runtime));
        place.keep();
    } else {
        keepResult<S>(callWith<In>(f, in, runtime), result);
    }
}

// What a callable returns, if it can be called.
template <class Stored, class In>
auto returnedBy(const Stored& f, const In& in, Runtime& runtime) {
    if constexpr (TakesRuntime<Stored, In>) {
        return std::type_identity<decltype(f(in, runtime))>{};
    } else {
        return std::type_identity<decltype(f(in))>{};
    }
}

/// Wraps `f(const In&)` or `f(const In&, Runtime&)` that returns a NodeReturn, or a coroutine that gives one.
template <class S, class In, class F>
NodeAction makeNode(F&& f) {
    using Stored = std::decay_t<F>;
    constexpr bool callable = TakesRuntime<Stored, In> || TakesInput<Stored, In>;
    if constexpr (!callable) {
        constexpr bool is_uncompiled = requires(const Stored& graph) { graph.compile(); };
        static_assert(!is_uncompiled, "stategraph: a graph that is a node is compiled: addNode(name, inner.compile())");
        static_assert(
            is_uncompiled,
            "stategraph: a node must be callable as f(const State&) or f(const State&, sg::Runtime&), and be const");
    } else {
        using Returned = typename decltype(returnedBy(std::declval<const Stored&>(), std::declval<const In&>(),
                                                      std::declval<Runtime&>()))::type;
        if constexpr (NodeReturn<Returned, S>) {
            return {own(static_cast<F&&>(f)), callNode<S, In, Stored>, NodeInput<S, In>::type(), nullptr,
                    is_command<Returned>};
        } else if constexpr (AsyncNodeReturn<Returned, S>) {
            using Async = AsyncNode<Returned>;
            return {own(static_cast<F&&>(f)), Async::template call<S, In, Stored>, NodeInput<S, In>::type(),
                    Async::template start<S, In, Stored>, is_command<typename Async::Value>};
        } else {
            constexpr bool is_unknown_task = is_task<Returned> && !requires { typename AsyncNode<Returned>::Value; };
            // Without the definition of Task another static_assert reports that.
            static_assert(
                !is_unknown_task || !requires { typename Returned::promise_type; },
                "stategraph: a node that is a coroutine needs #include <stategraph/async.hpp>");
            static_assert(
                NodeReturn<Returned, S> || is_unknown_task,
                "stategraph: a node must return sg::Update<State>, sg::Command<State>, one write such as "
                "sg::set<&State::member>(value), or nothing; or a sg::Task of one of these (a coroutine of Asio needs "
                "#include <stategraph/asio.hpp>)");
        }
    }
    return {};
}

// The first parameter of a callable that is not overloaded and not generic, without const and reference; else
// `Fallback`.
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
    } else if constexpr (requires(const R& r) {
                             *r.begin();
                             r.end();
                         }) {
        return routable_element<std::remove_cvref_t<decltype(*std::declval<const R&>().begin())>>;
    } else {
        return false;
    }
}

template <class S, class Stored, class Returned>
void callRouter(const void* stored, const void* state, Runtime& runtime, RouteSink& sink) {
    const Stored& f = *static_cast<const Stored*>(stored);
    const S& in = *static_cast<const S*>(state);
    if constexpr (TakesRuntime<Stored, S>) {
        route<Returned>(f(in, runtime), sink);
    } else {
        route<Returned>(f(in), sink);
    }
}

/// Wraps `f(const S&)` or `f(const S&, Runtime&)` that chooses where to go.
template <class S, class F>
RouterAction makeRouter(F&& f) {
    using Stored = std::decay_t<F>;
    constexpr bool callable = TakesRuntime<Stored, S> || TakesInput<Stored, S>;
    static_assert(
        callable,
        "stategraph: a router must be callable as f(const State&) or f(const State&, sg::Runtime&), and be const");
    if constexpr (callable) {
        using Returned = std::remove_cvref_t<typename decltype(returnedBy(
            std::declval<const Stored&>(), std::declval<const S&>(), std::declval<Runtime&>()))::type>;
        static_assert(routable<Returned>(),
                      "stategraph: a router must return a node's name, a sg::Send, a list of either, or sg::Targets");
        if constexpr (routable<Returned>()) return {own(static_cast<F&&>(f)), callRouter<S, Stored, Returned>};
    }
    return {};
}

}  // namespace detail
}  // namespace stategraph
