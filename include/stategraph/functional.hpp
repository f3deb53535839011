#pragma once
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <stategraph/cache.hpp>
#include <stategraph/cache_policy.hpp>
#include <stategraph/detail/calls.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/graph.hpp>
#include <stategraph/interrupt.hpp>

// Ordinary functions as checkpointed runs: an entrypoint is a graph of one node whose function calls others through its
// Calls, and what those return is stored. Not part of <stategraph/stategraph.hpp>.
namespace stategraph {

class Calls;

/// The options of one call (Calls::callWith, Calls::startWith).
struct CallOptions {
    /// How a failed call is tried again.
    RetryPolicy retry = {};
    /// Keeps the result in the entrypoint's CompileOptions::cache, if there is one. All arguments must be storable.
    std::optional<CallCache> cache = {};
};

/// The future result of a call that Calls::start began.
template <class R>
class CallFuture {
public:
    explicit CallFuture(std::shared_ptr<detail::CallResult<R>> result) noexcept : result_(std::move(result)) {}
    /// Waits for it; if no thread has begun the call, this thread executes it. Throws the error of the call.
    const R& get() const {
        result_->wait();
        if (result_->thrown) std::rethrow_exception(result_->thrown);
        return *result_->value;
    }

private:
    std::shared_ptr<detail::CallResult<R>> result_;
};

/// What the function of an entrypoint receives besides its input, and the function of a call besides its arguments if
/// it takes a `Calls&` first. Valid during the call, on the thread of the call.
///
/// When a run is resumed the function runs again from its beginning, and each call returns what it returned before
/// without being made: so the code between calls must depend only on the input and on the results of calls. Calls are
/// distinguished by name, and calls of one name by their order.
class Calls {
public:
    explicit Calls(Runtime& runtime, std::string_view within = {}) : runtime_(runtime), threads_(runtime, within) {}
    Calls(const Calls&) = delete;
    Calls& operator=(const Calls&) = delete;

    /// The runtime of the node that executes the function.
    Runtime& runtime() noexcept { return runtime_; }

    /// Calls `fn(args…)` once for this run; the result (anything storable) is stored before this returns. What the last
    /// attempt throws passes through, and nothing is stored of it. Errors: as Runtime::once; InvalidArgumentError for a
    /// name that is empty or too long.
    ///
    /// A function may make calls too: it takes a `Calls&` first, `fn(calls, args…)`, and receives its own, which
    /// are separate from those of other functions.
    template <class F, class... A>
    detail::Returned<F, A...> call(std::string_view name, F&& fn, A&&... args) {
        return callWith(name, CallOptions(), std::forward<F>(fn), std::forward<A>(args)...);
    }
    /// Does the same with retries and a cache (CallOptions).
    template <class F, class... A>
    detail::Returned<F, A...> callWith(std::string_view name, const CallOptions& options, F&& fn, A&&... args) {
        detail::checkCall(runtime_, name, options);
        const std::string key = nextKey(name);
        return make(name, key, options, fn, args...);
    }

    /// Makes the call on another thread, so that several run at once; `fn` and the arguments are copied. A call that no
    /// thread is free for is made by the thread that waits for it. The Calls wait for all of them at their end. Such a
    /// function may ask (`interrupt`): its question ends the run once `get()` is called for it. It makes calls, starts
    /// others and sleeps on the Calls that it receives; on those that it was started on this is an
    /// InvalidArgumentError.
    template <class F, class... A>
    auto start(std::string_view name, F fn, A... args) {
        return startWith(name, CallOptions(), std::move(fn), std::move(args)...);
    }
    /// Does the same with retries and a cache (CallOptions).
    template <class F, class... A>
    auto startWith(std::string_view name, const CallOptions& options, F fn, A... args) {
        using R = detail::Returned<F, A...>;
        static_assert(!std::is_void_v<R>,
                      "stategraph: a function given to Calls::start must return something to wait for");
        struct Call final : detail::CallResult<R> {
            struct Parts {
                Calls* flow;
                std::string name;
                std::string key;
                CallOptions options;
                F fn;
                std::tuple<A...> args;
            };
            explicit Call(Parts&& given) : parts(std::move(given)) {}
            void make() noexcept override {
                try {
                    const auto call = [this](auto&... own) {
                        return parts->flow->make(parts->name, parts->key, parts->options, parts->fn, own...);
                    };
                    this->value.emplace(std::apply(call, parts->args));
                } catch (...) {
                    this->thrown = std::current_exception();
                }
                parts.reset();
            }
            std::optional<Parts> parts;
        };
        detail::checkCall(runtime_, name, options);
        const std::string key = nextKey(name);
        auto call = std::make_shared<Call>(
            typename Call::Parts{this, std::string(name), key, options, std::move(fn), {std::move(args)...}});
        threads_.start(call);
        return CallFuture<R>(std::move(call));
    }

    /// Asks a question, as stategraph::interrupt does.
    template <class T = Value>
    T interrupt(const Value& question = {}) {
        return stategraph::interrupt<T>(runtime_, question);
    }
    template <class T = Value>
    T interrupt(std::string_view key, const Value& question) {
        return stategraph::interrupt<T>(runtime_, key, question);
    }
    /// Returns the answer to a question, if there is one, as stategraph::answerOf does.
    template <class T = Value>
    std::optional<T> answerOf(std::string_view key) {
        return stategraph::answerOf<T>(runtime_, key);
    }
    template <class T = Value>
    std::optional<T> answerOf() {
        return stategraph::answerOf<T>(runtime_);
    }
    /// Suspends the thread until a time, as Runtime::sleepUntil does; sleeps are distinguished like calls.
    void sleepUntil(std::chrono::system_clock::time_point time, std::string_view name = "sleep") {
        runtime_.sleepUntil(time, nextKey(name));
    }

private:
    template <class F, class... A>
    auto make(std::string_view name, const std::string& key, const CallOptions& options, F& fn, A&... args) {
        using R = detail::Returned<F, A...>;
        detail::CallReport report(runtime_, name, key);
        const auto call = [&]() -> R {
            for (int attempt = 1;; ++attempt) {
                report.begins(attempt);
                try {
                    if constexpr (detail::takes_calls<F, A...>) {
                        Calls own(runtime_, key);
                        return fn(own, args...);
                    } else {
                        return fn(args...);
                    }
                } catch (...) {
                    detail::retryCall(runtime_, options.retry, attempt, report);
                }
            }
        };
        const auto stored = [&]() -> R {
            return runtime_.once(key, [&]() -> R {
                if (!options.cache) return call();
                return detail::callCached<R>(runtime_, name, *options.cache, report, call, args...);
            });
        };
        if constexpr (std::is_void_v<R>) {
            stored();
            report.ends();
        } else {
            R result = stored();
            report.ends();
            return result;
        }
    }
    std::string nextKey(std::string_view name) {
        for (auto& [known, number] : numbers_) {
            if (known == name) return threads_.callKey(runtime_, name, ++number);
        }
        std::string key = threads_.callKey(runtime_, name, 0);
        numbers_.emplace_back(std::string(name), 0);
        return key;
    }

    Runtime& runtime_;
    std::vector<std::pair<std::string, std::size_t>> numbers_;
    detail::StartedCalls threads_;  // last, because it waits while the other members still exist
};

/// What an entrypoint returns and what the thread's next run finds as previous, where they differ.
template <class Out, class Saved>
struct Final {
    Out value;
    Saved save;
};

namespace detail {

template <class In, class Out, class Saved>
struct EntryState {
    In input = {};
    std::optional<Out> output = {};
    std::optional<Saved> previous = {};

    static constexpr auto channels() {
        return stategraph::channels(channel("input", &EntryState::input), channel("output", &EntryState::output),
                                    channel("previous", &EntryState::previous));
    }
};

template <class R>
struct FinalOf {
    using Out = R;
    using Saved = R;
};
template <class O, class S>
struct FinalOf<Final<O, S>> {
    using Out = O;
    using Saved = S;
};

template <class R, class C, class In>
std::pair<std::type_identity<std::remove_cvref_t<In>>, std::type_identity<R>> entryOf(R (C::*)(In, Calls&) const);
template <class R, class C, class In, class Prev>
std::pair<std::type_identity<std::remove_cvref_t<In>>, std::type_identity<R>> entryOf(R (C::*)(In, Calls&, Prev) const);
template <class R, class In>
std::pair<std::type_identity<std::remove_cvref_t<In>>, std::type_identity<R>> entryOf(R (*)(In, Calls&));
template <class R, class In, class Prev>
std::pair<std::type_identity<std::remove_cvref_t<In>>, std::type_identity<R>> entryOf(R (*)(In, Calls&, Prev));

// Has no `Types` if F is no function of an entrypoint.
template <class F>
struct EntryTypes {};
template <class F>
    requires requires { entryOf(&F::operator()); }
struct EntryTypes<F> {
    using Types = decltype(entryOf(&F::operator()));
};
template <class R, class... A>
    requires requires { entryOf(static_cast<R (*)(A...)>(nullptr)); }
struct EntryTypes<R (*)(A...)> {
    using Types = decltype(entryOf(static_cast<R (*)(A...)>(nullptr)));
};

template <class F>
concept EntryFunction = requires { typename EntryTypes<F>::Types; };

}  // namespace detail

/// A function as a run, returned by `entrypoint`. It never changes; copies are cheap; every method is safe from any
/// thread.
template <class In, class Out, class Saved = Out>
class Entrypoint {
public:
    using State = detail::EntryState<In, Out, Saved>;

    explicit Entrypoint(CompiledGraph<State> graph) : graph_(std::move(graph)) {}

    /// Runs the function. The next run of a thread begins from the start with its own input. `values` has a value if
    /// the status is done. Errors: as CompiledGraph::invoke.
    Result<std::optional<Out>> invoke(In input, const RunConfig& config = RunConfig::defaults()) const {
        return resultOf(graph_.invoke({set(&State::input, std::move(input)), clear(&State::output)}, config));
    }
    /// Resumes a run that has stopped.
    Result<std::optional<Out>> invoke(ResumeTag tag, const RunConfig& config) const {
        return resultOf(graph_.invoke(tag, config));
    }
    template <class C>
    Result<std::optional<Out>> invoke(Command<C> command, const RunConfig& config) const {
        return resultOf(graph_.invoke(std::move(command), config));
    }
    /// Removes from the cache (CompileOptions::cache) the results of the calls named `call` that were cached with this
    /// `ns` (CallCache::ns), in all threads; results of calls under way may still be added. Errors:
    /// InvalidArgumentError without a cache; what the cache throws.
    void clearCache(std::string_view call, std::string_view ns = {}) const {
        detail::clearCalls(*graph_.core(), call, ns);
    }
    /// The graph with one node that the entrypoint is, for state, history, streams and recover.
    const CompiledGraph<State>& graph() const noexcept { return graph_; }

private:
    static Result<std::optional<Out>> resultOf(Result<State>&& from) {
        Result<std::optional<Out>> result;
        result.values = std::move(from.values.output);
        result.status = from.status;
        result.interrupts = std::move(from.interrupts);
        result.wake_at = from.wake_at;
        result.config = std::move(from.config);
        return result;
    }

    CompiledGraph<State> graph_;
};

/// Creates an entrypoint from `f(const In&, Calls&)`, or from `f(const In&, Calls&, const std::optional<Saved>&
/// previous)` which also gets what the thread's last finished run returned. It returns a storable Out, or a Final<Out,
/// Saved>. Errors: as StateGraph::compile.
template <detail::EntryFunction F>
auto entrypoint(std::string name, F f, const CompileOptions& options = CompileOptions::defaults()) {
    using Types = typename detail::EntryTypes<F>::Types;
    using In = typename Types::first_type::type;
    using Returned = typename Types::second_type::type;
    using Out = typename detail::FinalOf<Returned>::Out;
    using Saved = typename detail::FinalOf<Returned>::Saved;
    using State = detail::EntryState<In, Out, Saved>;
    StateGraph<State> graph;
    graph.addNode(name, [f = std::move(f)](const State& state, Runtime& runtime) -> Update<State> {
        Calls flow(runtime);
        Returned returned = [&] {
            if constexpr (std::is_invocable_v<const F&, const In&, Calls&, const std::optional<Saved>&>) {
                return f(state.input, flow, state.previous);
            } else {
                return f(state.input, flow);
            }
        }();
        if constexpr (std::is_same_v<Returned, Final<Out, Saved>>) {
            return {set(&State::output, std::move(returned.value)), set(&State::previous, std::move(returned.save))};
        } else {
            return {set(&State::output, returned), set(&State::previous, returned)};
        }
    });
    graph.addEdge(START, name).addEdge(name, END);
    return Entrypoint<In, Out, Saved>(graph.compile(options));
}
// Any other function: says what is wrong with it.
template <class F>
auto entrypoint(std::string, F, const CompileOptions& = CompileOptions::defaults()) {
    static_assert(
        detail::EntryFunction<F>,
        "stategraph: an entrypoint's function is a const f(const In&, sg::Calls&), or f(const In&, sg::Calls&, "
        "const std::optional<Saved>&), with its types written out");
}

}  // namespace stategraph
