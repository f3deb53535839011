#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <stategraph/cache.hpp>
#include <stategraph/cache_policy.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/graph.hpp>
#include <stategraph/interrupt.hpp>

// Ordinary functions as checkpointed runs: an entrypoint is a graph of one node whose function calls others through a
// Flow, and what those return is stored. Not part of <stategraph/stategraph.hpp>.
namespace stategraph {

class Flow;

/// How one call of a Flow is done.
struct CallOptions {
    RetryPolicy retry = {};
    /// Kept in the entrypoint's CompileOptions::cache (without one, not). All arguments must be storable.
    std::optional<CallCache> cache = {};
};

namespace detail {

/// A call that Flow::start began. A thread of the executor makes it or, if none has begun it, the thread that waits for
/// it: so threads that all wait for such calls do not wait for each other.
class FlowCall {
public:
    FlowCall() noexcept = default;
    FlowCall(const FlowCall&) = delete;
    FlowCall& operator=(const FlowCall&) = delete;
    virtual ~FlowCall() = default;
    /// Makes the call unless somebody has begun it.
    void makeUnlessBegun() noexcept;
    /// Returns when it has ended.
    void wait() noexcept;
    bool isDone() const noexcept { return is_done_.load(std::memory_order_acquire); }

private:
    friend class FlowThreads;
    virtual void make() noexcept = 0;

    std::mutex mutex_;
    std::condition_variable ended_;
    std::atomic<bool> is_begun_ = false;
    std::atomic<bool> is_done_ = false;
    bool is_inside_flight_ = false;
};

/// The calls that a Flow started, all of which have ended before it goes; and where the Flow is, which its calls' keys
/// are made of.
class FlowThreads {
public:
    /// `within`: the key of the call whose function the Flow is for; empty: it is the entrypoint's.
    FlowThreads(Runtime& runtime, std::string_view within);
    ~FlowThreads();  // waits
    FlowThreads(const FlowThreads&) = delete;
    FlowThreads& operator=(const FlowThreads&) = delete;
    void start(const std::shared_ptr<FlowCall>& call);
    /// "call:NAME#N", and within a call "call/CALL:NAME#N". Errors: InvalidArgumentError for a name that is empty or
    /// longer than 150 bytes, and in a function that was started and has not been given this Flow.
    std::string callKey(Runtime& runtime, std::string_view name, std::size_t number) const;

    struct Impl;

private:
    std::unique_ptr<Impl> impl_;
};

/// Reports what becomes of one call to those who asked for StreamMode::calls. Costs a branch where nobody did.
class CallReport {
public:
    CallReport(Runtime& runtime, std::string_view name, std::string_view key);
    ~CallReport();  // of one that has begun and not ended, its result could not be stored
    CallReport(const CallReport&) = delete;
    CallReport& operator=(const CallReport&) = delete;
    void begins(int attempt);
    /// The attempt under way has ended with `error`; "retried", "failed" or "paused".
    void fails(std::string_view event, const std::exception_ptr& error) noexcept;
    /// The call has its result: of the attempt under way, of the cache, or of an earlier run if there was no attempt.
    void ends() noexcept;
    void isCached() noexcept { is_cached_ = true; }

private:
    void tell(std::string_view event, std::optional<std::string> error);
    Runtime& runtime_;
    std::string_view name_;
    std::string_view key_;
    int attempt_ = 0;
    bool is_wanted_;
    bool is_open_ = false;
    bool is_cached_ = false;
};

/// Errors: InvalidArgumentError for options that no call can have.
void checkCall(const Runtime& runtime, std::string_view name, const CallOptions& options);
/// Waits before attempt `attempt` + 1 of a call, if it is to have one; else throws what is under way.
void retryCall(Runtime& runtime, const RetryPolicy& policy, int attempt, CallReport& report);
/// Forgets what the cache has of the calls with a name. Errors: InvalidArgumentError if the entrypoint has no cache;
/// what the cache throws.
void clearCalls(const Core& core, std::string_view name, std::string_view ns);

/// What the cache has of one call. Errors: InvalidArgumentError for an impossible time to live.
class CachedCall {
public:
    CachedCall(Runtime& runtime, std::string_view name, const CallCache& policy, std::string input);
    /// The result's bytes; none if there are none for this input. Never fails.
    std::optional<std::string> find() noexcept;
    /// Never fails.
    void keep(std::string_view value) noexcept;

private:
    std::shared_ptr<BaseCache> cache_;
    const CallCache& policy_;
    std::string ns_;
    std::string key_;
    std::string input_;
};
[[noreturn]] void refuseCachedCall(Runtime& runtime, std::string_view name);

/// `call()`, or what the cache has for these arguments.
template <class R, class Call, class... A>
R callCached(Runtime& runtime, std::string_view name, const CallCache& policy, CallReport& report, const Call& call,
             const A&... args) {
    if constexpr (Storable<R> && (Encodable<std::decay_t<const A&>> && ...)) {
        std::string input;
        ((input += Value(args).bytes()), ...);
        CachedCall cached(runtime, name, policy, std::move(input));
        if (auto bytes = cached.find()) {
            try {
                R value = Value::fromCbor(std::move(*bytes)).template as<R>();
                report.isCached();
                return value;
            } catch (const WrongTypeError&) {
                // Of another version of the program.
            }
        }
        R value = call();
        cached.keep(Value(value).bytes());
        return value;
    } else {
        refuseCachedCall(runtime, name);
    }
}

/// Whether a call's function takes a Flow of its own first.
template <class F, class... A>
inline constexpr bool takes_flow = !std::is_invocable_v<F&, A&...> && std::is_invocable_v<F&, Flow&, A&...>;
template <class F, class... A>
consteval auto returnedByCall() {
    constexpr bool is_callable = std::is_invocable_v<F&, A&...> || std::is_invocable_v<F&, Flow&, A&...>;
    static_assert(
        is_callable,
        "stategraph: the function of a call must be callable with the call's arguments, or with a sg::Flow& and these");
    if constexpr (takes_flow<F, A...>) {
        return std::type_identity<std::decay_t<std::invoke_result_t<F&, Flow&, A&...>>>{};
    } else if constexpr (is_callable) {
        return std::type_identity<std::decay_t<std::invoke_result_t<F&, A&...>>>{};
    } else {
        return std::type_identity<int>{};
    }
}
template <class F, class... A>
using Returned = typename decltype(returnedByCall<F, A...>())::type;

/// What came of it, once it is done.
template <class R>
struct CallResult : FlowCall {
    std::exception_ptr thrown;
    std::optional<R> value;
};

}  // namespace detail

/// The result to come of a call that Flow::start began.
template <class R>
class FlowFuture {
public:
    explicit FlowFuture(std::shared_ptr<detail::CallResult<R>> result) noexcept : result_(std::move(result)) {}
    /// Waits for it; if no thread has begun the call, it is made here. Throws what the call failed with.
    const R& get() const {
        result_->wait();
        if (result_->thrown) std::rethrow_exception(result_->thrown);
        return *result_->value;
    }

private:
    std::shared_ptr<detail::CallResult<R>> result_;
};

/// What an entrypoint's function has beside its input, and the function of a call beside its arguments if it takes a
/// `Flow&` first. Valid during the call, on the thread of the call.
///
/// When a run is resumed the function runs again from its beginning, and each call returns what it returned before
/// without being made: so what the function does between calls must depend on nothing but its input and the calls'
/// results. Calls are told apart by name, and those of one name by their order.
class Flow {
public:
    explicit Flow(Runtime& runtime, std::string_view within = {}) : runtime_(runtime), threads_(runtime, within) {}
    Flow(const Flow&) = delete;
    Flow& operator=(const Flow&) = delete;

    Runtime& runtime() noexcept { return runtime_; }

    /// Calls `fn(args…)` once for this run; the result (anything storable) is stored before this returns. What the last
    /// attempt throws passes through, and nothing is stored of it. Errors: as Runtime::once; InvalidArgumentError for a
    /// name that is empty or too long.
    ///
    /// A function may make calls too: it takes a `Flow&` first, `fn(flow, args…)`, and is given one of its own, whose
    /// calls are told apart from those of other functions.
    template <class F, class... A>
    detail::Returned<F, A...> call(std::string_view name, F&& fn, A&&... args) {
        return callWith(name, CallOptions(), std::forward<F>(fn), std::forward<A>(args)...);
    }
    template <class F, class... A>
    detail::Returned<F, A...> callWith(std::string_view name, const CallOptions& options, F&& fn, A&&... args) {
        detail::checkCall(runtime_, name, options);
        const std::string key = nextKey(name);
        return make(name, key, options, fn, args...);
    }

    /// The same on another thread, so that several run at once; `fn` and the arguments are copied. A call that no
    /// thread is free for is made by the thread that waits for it. The Flow waits for all of them at its end. Such a
    /// function may ask (`interrupt`): its question ends the run once `get()` is called for it. It makes calls, starts
    /// others and sleeps on the Flow that it is given; on the one that it was started on these are an
    /// InvalidArgumentError.
    template <class F, class... A>
    auto start(std::string_view name, F fn, A... args) {
        return startWith(name, CallOptions(), std::move(fn), std::move(args)...);
    }
    template <class F, class... A>
    auto startWith(std::string_view name, const CallOptions& options, F fn, A... args) {
        using R = detail::Returned<F, A...>;
        static_assert(!std::is_void_v<R>,
                      "stategraph: a function given to Flow::start must return something to wait for");
        struct Call final : detail::CallResult<R> {
            struct Parts {
                Flow* flow;
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
        return FlowFuture<R>(std::move(call));
    }

    /// As stategraph::interrupt.
    template <class T = Value>
    T interrupt(const Value& question = {}) {
        return stategraph::interrupt<T>(runtime_, question);
    }
    template <class T = Value>
    T interrupt(std::string_view key, const Value& question) {
        return stategraph::interrupt<T>(runtime_, key, question);
    }
    /// As stategraph::answerOf.
    template <class T = Value>
    std::optional<T> answerOf(std::string_view key) {
        return stategraph::answerOf<T>(runtime_, key);
    }
    template <class T = Value>
    std::optional<T> answerOf() {
        return stategraph::answerOf<T>(runtime_);
    }
    /// As Runtime::sleepUntil, with calls told apart like others.
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
                    if constexpr (detail::takes_flow<F, A...>) {
                        Flow own(runtime_, key);
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
    detail::FlowThreads threads_;  // last: it waits while the rest is there
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
std::pair<std::type_identity<std::remove_cvref_t<In>>, std::type_identity<R>> entryOf(R (C::*)(In, Flow&) const);
template <class R, class C, class In, class Prev>
std::pair<std::type_identity<std::remove_cvref_t<In>>, std::type_identity<R>> entryOf(R (C::*)(In, Flow&, Prev) const);
template <class R, class In>
std::pair<std::type_identity<std::remove_cvref_t<In>>, std::type_identity<R>> entryOf(R (*)(In, Flow&));
template <class R, class In, class Prev>
std::pair<std::type_identity<std::remove_cvref_t<In>>, std::type_identity<R>> entryOf(R (*)(In, Flow&, Prev));

template <class F>
struct EntryTypes {
    using Types = decltype(entryOf(&F::operator()));
};
template <class R, class... A>
struct EntryTypes<R (*)(A...)> {
    using Types = decltype(entryOf(static_cast<R (*)(A...)>(nullptr)));
};

}  // namespace detail

/// A function as a run: what `entrypoint` returns. Never changes; copies are cheap; every method is safe from any
/// thread.
template <class In, class Out, class Saved = Out>
class Entrypoint {
public:
    using State = detail::EntryState<In, Out, Saved>;

    explicit Entrypoint(CompiledGraph<State> graph) : graph_(std::move(graph)) {}

    /// Runs the function; a thread's next run begins anew with its own input. `values` has a value if the status is
    /// done. Errors: as CompiledGraph::invoke.
    Result<std::optional<Out>> invoke(In input, const RunConfig& config = RunConfig::defaults()) const {
        return resultOf(graph_.invoke({set(&State::input, std::move(input)), clear(&State::output)}, config));
    }
    /// Goes on with a run that stopped.
    Result<std::optional<Out>> invoke(ResumeTag tag, const RunConfig& config) const {
        return resultOf(graph_.invoke(tag, config));
    }
    template <class C>
    Result<std::optional<Out>> invoke(Command<C> command, const RunConfig& config) const {
        return resultOf(graph_.invoke(std::move(command), config));
    }
    /// Forgets what the cache (CompileOptions::cache) has of the calls named `call` that were cached with this `ns`
    /// (CallCache::ns), in all threads; results of calls under way may still be added. Errors: InvalidArgumentError
    /// without a cache; what the cache throws.
    void clearCache(std::string_view call, std::string_view ns = {}) const {
        detail::clearCalls(*graph_.core(), call, ns);
    }
    /// The graph of one node that it is: for state, history, streams, recover.
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

/// Makes a run of `f(const In&, Flow&)`, or of `f(const In&, Flow&, const std::optional<Saved>& previous)` which also
/// gets what the thread's last finished run returned. It returns a storable Out, or a Final<Out, Saved>. Errors: as
/// StateGraph::compile.
template <class F>
auto entrypoint(std::string name, F f, const CompileOptions& options = CompileOptions::defaults()) {
    using Types = typename detail::EntryTypes<F>::Types;
    using In = typename Types::first_type::type;
    using Returned = typename Types::second_type::type;
    using Out = typename detail::FinalOf<Returned>::Out;
    using Saved = typename detail::FinalOf<Returned>::Saved;
    using State = detail::EntryState<In, Out, Saved>;
    StateGraph<State> graph;
    graph.addNode(name, [f = std::move(f)](const State& state, Runtime& runtime) -> Update<State> {
        Flow flow(runtime);
        Returned returned = [&] {
            if constexpr (std::is_invocable_v<const F&, const In&, Flow&, const std::optional<Saved>&>) {
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

}  // namespace stategraph
