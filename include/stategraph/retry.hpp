#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <stategraph/detail/chrono.hpp>

namespace stategraph {

/// The default of RetryPolicy::retry_on. False for mistakes in code or calls (std::logic_error, errors of this library)
/// and for memory (std::bad_alloc); true for all other errors, and for an attempt that was abandoned because it took
/// too long (NodeTimeoutError).
bool isRetryable(const std::exception_ptr& error);

namespace detail {

template <class E>
bool isA(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const E&) {
        return true;
    } catch (...) {
        return false;
    }
}
template <class... E>
bool isOneOf(const std::exception_ptr& error) {
    return (isA<E>(error) || ...);
}

// The parameter of a predicate that takes an exception.
template <class C, class E>
std::type_identity<std::remove_cvref_t<E>> caughtBy(bool (C::*)(E) const);
template <class C, class E>
std::type_identity<std::remove_cvref_t<E>> caughtBy(bool (C::*)(E) const noexcept);
template <class F>
concept CatchesOne = requires { caughtBy(&F::operator()); };

}  // namespace detail

/// Which errors a RetryPolicy is for: a function of the error, a closure that takes one type of exception (`[](const
/// HttpError& e) { return e.status >= 500; }`), or types of exceptions, `sg::on<HttpError, Timeout>()`. A predicate
/// that throws rejects the error. It is called on the thread of the task; several tasks may call it at the same time.
class RetryOn {
public:
    RetryOn() noexcept = default;
    RetryOn(bool (*predicate)(const std::exception_ptr&)) noexcept : function_(predicate) {}
    template <class F>
        requires std::is_class_v<F> && (!std::same_as<F, RetryOn>)
    RetryOn(F predicate)
        : function_(nullptr), closure_(std::make_shared<const F>(std::move(predicate))), call_(call<F>) {
        constexpr bool fits = std::is_invocable_r_v<bool, const F&, const std::exception_ptr&> || detail::CatchesOne<F>;
        static_assert(fits,
                      "stategraph: retry_on is a const bool f(const std::exception_ptr&) or bool f(const E&) for one "
                      "type of exception E, or sg::on<E1, E2>()");
    }

    /// Whether it has a function; no graph compiles with one that is null.
    bool isGiven() const noexcept { return function_ != nullptr || call_ != nullptr; }
    bool operator()(const std::exception_ptr& error) const {
        return call_ != nullptr ? call_(closure_.get(), error) : function_(error);
    }
    friend bool operator==(const RetryOn&, const RetryOn&) = default;

private:
    using Call = bool (*)(const void* closure, const std::exception_ptr& error);
    template <class F>
    static bool call(const void* closure, const std::exception_ptr& error) {
        const F& predicate = *static_cast<const F*>(closure);
        if constexpr (std::is_invocable_r_v<bool, const F&, const std::exception_ptr&>) {
            return predicate(error);
        } else if constexpr (detail::CatchesOne<F>) {
            using E = typename decltype(detail::caughtBy(&F::operator()))::type;
            try {
                std::rethrow_exception(error);
            } catch (const E& caught) {
                return predicate(caught);
            } catch (...) {
                return false;
            }
        } else {
            return false;
        }
    }

    bool (*function_)(const std::exception_ptr&) = &isRetryable;
    std::shared_ptr<const void> closure_;
    Call call_ = nullptr;
};

/// Errors of these types, and of types derived from them.
template <class... E>
RetryOn on() {
    static_assert(sizeof...(E) > 0, "stategraph: sg::on<E1, E2>() names the types of exceptions to retry on");
    return RetryOn(&detail::isOneOf<E...>);
}

/// How often a node is tried. Attempts of a task follow each other within its superstep, on its thread; what a failed
/// attempt wrote is dropped. The wait before attempt n + 1 is initial_interval × backoff_factor^(n − 1), at most
/// max_interval, and with jitter up to as much again.
struct RetryPolicy {
    /// Attempts in all; at least 1. The default is not to retry.
    int max_attempts = 1;
    /// The wait before the second attempt; at least 0.
    std::chrono::duration<double, std::milli> initial_interval = std::chrono::milliseconds(500);
    /// The factor by which each wait is longer than the one before; at least 1.
    double backoff_factor = 2;
    /// The longest wait.
    std::chrono::duration<double, std::milli> max_interval = std::chrono::seconds(128);
    /// Whether a random part is added to each wait, so that many tasks do not try again at the same moment.
    bool jitter = true;
    /// The errors after which another attempt is made; not given: isRetryable.
    RetryOn retry_on = {};
    /// Policies for errors that `retry_on` does not accept, in order: the first one that accepts an error decides about
    /// the next attempt and its wait. Attempts of a task are counted together. `otherwise` of these policies is not
    /// used.
    std::vector<RetryPolicy> otherwise = {};
    /// Set for a node whose retries were not specified (NodeOptions): if no other field is set, the graph's node
    /// defaults apply.
    bool by_default = false;

    friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

/// Serves code that retries in the same way as nodes. Returns the policy by which another attempt follows the failed
/// one, number `attempt`: `first`, or the first of its others that accepts the error. Null: none follows. Predicates
/// are not called if no policy permits another attempt. Throws what a predicate throws.
const RetryPolicy* policyAfter(const RetryPolicy& first, const std::exception_ptr& error, int attempt);
/// How long to wait before the attempt after `attempt`; with jitter, another time at each call.
std::chrono::duration<double, std::milli> retryWait(const RetryPolicy& policy, int attempt);

}  // namespace stategraph
