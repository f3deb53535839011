#include "serve/rates.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <stategraph/error.hpp>

namespace stategraph::serve {

namespace {

constexpr int looks = 16;                                // how many clients one request looks at when the table is full
constexpr double longest_wait = 24.0 * 60 * 60;          // that a client is told, in seconds
constexpr std::chrono::duration<double> most_owed(1e9);  // so that times stay numbers

}  // namespace

Rates::Rates(Rate rate, std::size_t clients_max) : rate_(rate), clients_max_(clients_max) {
    if (!std::isfinite(rate.per_second) || !std::isfinite(rate.burst) || rate.per_second < 0 || rate.burst < 0)
        throw InvalidArgumentError("a Rate of ServerOptions::per_client is negative, or no number");
    if (rate.burst > 0 && rate.burst < 1)
        throw InvalidArgumentError("the burst of a Rate of ServerOptions::per_client is at least 1, or 0");
    if (clients_max < 1) throw InvalidArgumentError("ClientLimits::clients_max must be at least 1");
    if (rate_.burst == 0) rate_.burst = std::max(1.0, rate.per_second);
}

std::optional<std::chrono::seconds> Rates::waitFor(Full full, Full now) const noexcept {
    // A piece is there if at most `burst - 1` of them are missing. Sums of such times are not exact.
    const double missing = (full - now).count() * rate_.per_second;
    const double late = (missing - (rate_.burst - 1)) / rate_.per_second;
    if (late <= 1e-6) return {};
    return std::chrono::seconds(static_cast<std::int64_t>(std::ceil(std::min(late, longest_wait))));
}

std::optional<std::chrono::seconds> Rates::take(const Client& client, double pieces, Clock::time_point now) {
    if (isOff()) return {};
    const stategraph::detail::LockGuard lock(mutex_);
    Full& full = storeOf(client, now);
    if (const auto wait = waitFor(full, now)) return wait;
    full = std::max(full, Full(now)) + std::min(Span(pieces / rate_.per_second), most_owed);
    return {};
}

std::optional<std::chrono::seconds> Rates::waitOf(const Client& client, Clock::time_point now) const {
    if (isOff()) return {};
    const stategraph::detail::LockGuard lock(mutex_);
    if (const auto known = stores_.find(client.key); known != stores_.end()) return waitFor(known->second, now);
    return stores_.size() < clients_max_ ? std::nullopt : waitFor(shared_[sharedOf(client)], now);
}

std::size_t Rates::size() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return stores_.size();
}

Rates::Full& Rates::storeOf(const Client& client, Full now) {
    if (const auto known = stores_.find(client.key); known != stores_.end()) return known->second;
    if (stores_.size() >= clients_max_) forget(now);
    if (stores_.size() >= clients_max_) return shared_[sharedOf(client)];
    return stores_.emplace(client.key, now).first->second;
}

void Rates::forget(Full now) {
    auto at = stores_.lower_bound(hand_);
    for (int left = looks; left > 0 && !stores_.empty(); --left) {
        if (at == stores_.end()) at = stores_.begin();
        at = at->second <= now ? stores_.erase(at) : std::next(at);
    }
    hand_ = at == stores_.end() ? std::string() : at->first;
}

std::size_t Rates::sharedOf(const Client& client) noexcept {
    return std::hash<std::string>()(client.neighbourhood) % shared_count;
}

}  // namespace stategraph::serve
