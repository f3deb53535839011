#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <stategraph/detail/node.hpp>

namespace stategraph {

/// What happens to the other tasks of a superstep when one has failed. Tasks that have begun always run to their end,
/// and their results are kept.
enum class FailurePolicy : std::uint8_t {
    wait,  // they run; the error is that of the first failed task, in the order of tasks
    // those that have not begun are not started; RESUME runs them. Which tasks those are depends on timing
    cancel_siblings,
    collect,  // they run; the error carries those of the other tasks that failed (Error::others)
};

/// Why an error handler is called (StateGraph::onError): the same after a crash.
struct NodeFailure {
    std::string node;
    /// The text of the node's last exception.
    std::string error;
    /// How many attempts were made.
    int attempts = 1;
};

namespace detail {

const NodeFailure& failureOf(Runtime& runtime) noexcept;

template <class Stored, class In>
concept HandlesWithRuntime =
    requires(const Stored& f, const In& in, const NodeFailure& failure, Runtime& runtime) { f(in, failure, runtime); };
template <class Stored, class In>
concept Handles = requires(const Stored& f, const In& in, const NodeFailure& failure) { f(in, failure); };

template <class In, class Stored>
decltype(auto) handleWith(const Stored& f, const In& in, Runtime& runtime) {
    if constexpr (HandlesWithRuntime<Stored, In>) {
        return f(in, failureOf(runtime), runtime);
    } else {
        return f(in, failureOf(runtime));
    }
}

template <class S, class In, class Stored>
void callHandler(const void* stored, const void* input, Runtime& runtime, TaskResult& result) {
    auto&& holder = NodeInput<S, In>::from(input, runtime);
    const In& in = holder;
    if constexpr (std::is_void_v<decltype(handleWith<In>(*static_cast<const Stored*>(stored), in, runtime))>) {
        handleWith<In>(*static_cast<const Stored*>(stored), in, runtime);
        result.writes.clear();
    } else {
        keepResult<S>(handleWith<In>(*static_cast<const Stored*>(stored), in, runtime), result);
    }
}

/// Wraps `f(const In&, const NodeFailure&)`, or with a Runtime& as the third parameter, that returns a NodeReturn.
template <class S, class F>
NodeAction makeHandler(F&& f) {
    using Stored = std::decay_t<F>;
    using In = typename FirstParameter<Stored, S>::Type;
    constexpr bool callable = HandlesWithRuntime<Stored, In> || Handles<Stored, In>;
    static_assert(callable,
                  "stategraph: an error handler must be callable as f(const State&, const sg::NodeFailure&), or with a "
                  "sg::Runtime& as the third parameter, and be const");
    if constexpr (callable) {
        using Returned = std::remove_cvref_t<decltype(handleWith<In>(
            std::declval<const Stored&>(), std::declval<const In&>(), std::declval<Runtime&>()))>;
        static_assert(
            NodeReturn<Returned, S>,
            "stategraph: an error handler must return sg::Update<State>, sg::Command<State>, one write, or nothing");
        if constexpr (NodeReturn<Returned, S>)
            return {own(std::forward<F>(f)), callHandler<S, In, Stored>, NodeInput<S, In>::type()};
    }
    return {};
}

}  // namespace detail
}  // namespace stategraph
