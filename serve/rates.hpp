#pragma once
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/serve/limits.hpp>

#include "serve/client.hpp"

namespace stategraph::serve {

/// The stores of one limit: a token bucket for each client. The table has a limit, and forgets only clients whose store
/// is full, which are as clients that it never knew; so nobody gets a full store by making others come. What has no
/// place in the table shares one of a few stores with its neighbourhood. Safe from any thread.
class Rates {
public:
    using Clock = std::chrono::steady_clock;

    /// Errors: InvalidArgumentError for a rate that makes no sense.
    Rates(Rate rate, std::size_t clients_max);

    /// Takes pieces from the client's store, which may owe some afterwards. If it has none left, nothing is taken, and
    /// it returns how long to wait.
    std::optional<std::chrono::seconds> take(const Client& client, double pieces, Clock::time_point now);
    /// The same without taking anything.
    std::optional<std::chrono::seconds> waitOf(const Client& client, Clock::time_point now) const;
    /// How many clients are remembered.
    std::size_t size() const;

private:
    /// When a store is full again, which says all about it.
    using Full = std::chrono::time_point<Clock, std::chrono::duration<double>>;
    using Span = std::chrono::duration<double>;
    static constexpr std::size_t shared_count = 256;

    bool isOff() const noexcept { return rate_.per_second <= 0; }
    std::optional<std::chrono::seconds> waitFor(Full full, Full now) const noexcept;
    Full& storeOf(const Client& client, Full now) SG_REQUIRES(mutex_);
    /// Forgets some clients with full stores.
    void forget(Full now) SG_REQUIRES(mutex_);
    static std::size_t sharedOf(const Client& client) noexcept;

    Rate rate_;
    const std::size_t clients_max_;
    mutable stategraph::detail::Mutex mutex_;
    std::map<std::string, Full> stores_ SG_GUARDED_BY(mutex_);
    std::string hand_ SG_GUARDED_BY(mutex_);  // where `forget` looks next
    std::array<Full, shared_count> shared_ SG_GUARDED_BY(mutex_) = {};
};

}  // namespace stategraph::serve
