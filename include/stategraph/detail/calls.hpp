#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <stategraph/cache.hpp>
#include <stategraph/cache_policy.hpp>
#include <stategraph/detail/mutex.hpp>
#include <stategraph/graph.hpp>

// The implementation of Calls.
namespace stategraph {

class Calls;
struct CallOptions;

namespace detail {

/// A call that Calls::start began. A thread of the executor executes it or, if none has begun it, the thread that waits
/// for it, so that threads which all wait for such calls do not wait for each other.
class StartedCall {
public:
    StartedCall() noexcept = default;
    StartedCall(const StartedCall&) = delete;
    StartedCall& operator=(const StartedCall&) = delete;
    virtual ~StartedCall() = default;
    /// Executes the call unless another thread has begun it.
    void makeUnlessBegun() noexcept;
    /// Returns when it has ended.
    void wait() noexcept;
    bool isDone() const noexcept { return is_done_.load(std::memory_order_acquire); }

private:
    friend class StartedCalls;
    virtual void make() noexcept = 0;

    detail::Mutex mutex_;
    std::condition_variable ended_;
    std::atomic<bool> is_begun_ = false;
    std::atomic<bool> is_done_ = false;
};

/// The calls that one Calls started, all of which end before it is destroyed; and its place, from which the keys of its
/// calls are derived.
class StartedCalls {
public:
    /// `within`: the key of the call to whose function the Calls belongs; empty: it is the entrypoint's.
    StartedCalls(Runtime& runtime, std::string_view within);
    ~StartedCalls();  // waits for all of them
    StartedCalls(const StartedCalls&) = delete;
    StartedCalls& operator=(const StartedCalls&) = delete;
    void start(const std::shared_ptr<StartedCall>& call);
    /// Returns "call:NAME#N", or within a call "call/CALL:NAME#N". Errors: InvalidArgumentError for a name that is
    /// empty or longer than 150 bytes, and in a function that was started and was not given this Calls.
    std::string callKey(Runtime& runtime, std::string_view name, std::size_t number) const;

    struct Impl;

private:
    std::unique_ptr<Impl> impl_;
};

/// Reports the progress of one call to readers of StreamMode::calls. Costs one branch if there are none.
class CallReport {
public:
    CallReport(Runtime& runtime, std::string_view name, std::string_view key);
    ~CallReport();  // reports a call that has begun and not ended: its result could not be stored
    CallReport(const CallReport&) = delete;
    CallReport& operator=(const CallReport&) = delete;
    void begins(int attempt);
    /// The current attempt has ended with `error`; `event` is "retried", "failed" or "paused".
    void fails(std::string_view event, const std::exception_ptr& error) noexcept;
    /// The call has its result: from the current attempt, or, if there was no attempt, from the cache or an earlier
    /// run.
    void ends() noexcept;
    void isCached() noexcept { is_cached_ = true; }

private:
    void tell(std::string_view event, const std::optional<std::string>& error);
    Runtime& runtime_;
    std::string_view name_;
    std::string_view key_;
    int attempt_ = 0;
    bool is_wanted_;
    bool is_open_ = false;
    bool is_cached_ = false;
};

/// Errors: InvalidArgumentError for options that are invalid for every call.
void checkCall(const Runtime& runtime, std::string_view name, const CallOptions& options);
/// Waits before attempt `attempt` + 1 of a call, if there is to be one; otherwise rethrows the current exception.
void retryCall(Runtime& runtime, const RetryPolicy& policy, int attempt, CallReport& report);
/// Removes the cached results of the calls with a name. Errors: InvalidArgumentError if the entrypoint has no cache;
/// what the cache throws.
void clearCalls(const Core& core, std::string_view name, std::string_view ns);

/// The cache entry of one call. Errors: InvalidArgumentError for an impossible time to live.
class CachedCall {
public:
    CachedCall(Runtime& runtime, std::string_view name, const CallCache& policy, std::string input);
    /// The result's bytes; none if the cache has none for this input. Never throws.
    std::optional<std::string> find() noexcept;
    /// Never throws.
    void keep(std::string_view value) noexcept;

private:
    std::shared_ptr<BaseCache> cache_;
    const CallCache& policy_;
    std::string ns_;
    std::string key_;
    std::string input_;
};
[[noreturn]] void refuseCachedCall(Runtime& runtime, std::string_view name);

/// The result of `call()`, or the cached result for these arguments.
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
                // The entry is from another version of the program.
            }
        }
        R value = call();
        cached.keep(Value(value).bytes());
        return value;
    } else {
        refuseCachedCall(runtime, name);
    }
}

/// Whether a call's function takes Calls of its own first.
template <class F, class... A>
inline constexpr bool takes_calls = !std::is_invocable_v<F&, A&...> && std::is_invocable_v<F&, Calls&, A&...>;
template <class F, class... A>
consteval auto returnedByCall() {
    constexpr bool is_callable = std::is_invocable_v<F&, A&...> || std::is_invocable_v<F&, Calls&, A&...>;
    static_assert(is_callable,
                  "stategraph: the function of a call must be callable with the call's arguments, or with a sg::Calls& "
                  "and these");
    if constexpr (takes_calls<F, A...>) {
        return std::type_identity<std::decay_t<std::invoke_result_t<F&, Calls&, A&...>>>{};
    } else if constexpr (is_callable) {
        return std::type_identity<std::decay_t<std::invoke_result_t<F&, A&...>>>{};
    } else {
        return std::type_identity<int>{};
    }
}
template <class F, class... A>
using Returned = typename decltype(returnedByCall<F, A...>())::type;

/// The outcome, once the call is done.
template <class R>
struct CallResult : StartedCall {
    std::exception_ptr thrown;
    std::optional<R> value;
};

}  // namespace detail

}  // namespace stategraph
