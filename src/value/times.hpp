#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <stategraph/id_source.hpp>
#include <stategraph/ids.hpp>

// Converts between the times of public interfaces and the integers that are stored. No conversion overflows: a value
// that a type cannot hold becomes its first or last value.
namespace stategraph::times {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Moment = std::chrono::system_clock::time_point;
using SteadyMoment = std::chrono::steady_clock::time_point;

template <class Duration>
constexpr Moment momentOf(Duration since_1970) noexcept {
    constexpr auto first = std::chrono::ceil<Duration>(Moment::min().time_since_epoch());
    constexpr auto last = std::chrono::floor<Duration>(Moment::max().time_since_epoch());
    return Moment(std::chrono::duration_cast<Moment::duration>(std::clamp<Duration>(since_1970, first, last)));
}
constexpr Moment ofUnixMs(std::int64_t ms) noexcept { return momentOf(milliseconds(ms)); }
constexpr Moment ofUnixUs(std::int64_t us) noexcept { return momentOf(microseconds(us)); }

/// Rounds up, so that nothing happens before its time.
constexpr std::int64_t unixMs(Moment time) noexcept {
    return std::chrono::ceil<milliseconds>(time.time_since_epoch()).count();
}
/// Returns the time of a checkpoint, without the limits of a Moment.
constexpr std::int64_t unixMs(CheckpointId id) noexcept { return static_cast<std::int64_t>(id.high() >> 16U); }
/// Returns that time in microseconds. An id stores 4096 parts of a millisecond, so this returns exactly the time from
/// which it was created.
constexpr std::int64_t unixUs(CheckpointId id) noexcept {
    return unixMs(id) * 1000 + static_cast<std::int64_t>(((id.high() & 0xFFFU) * 1000 + 4095) / 4096);
}
/// Rounds down, for the time at which something happened.
constexpr std::int64_t unixMsDown(Moment time) noexcept {
    return std::chrono::floor<milliseconds>(time.time_since_epoch()).count();
}
constexpr std::int64_t unixUs(Moment time) noexcept {
    return std::chrono::floor<microseconds>(time.time_since_epoch()).count();
}

/// Return the current time in microseconds and in milliseconds since 1970.
inline std::int64_t nowUs(IdSource& source) { return unixUs(source.now()); }
inline std::int64_t nowMs(IdSource& source) { return unixMsDown(source.now()); }

/// A practically unlimited time. Longer times would overflow a clock, or the additions that the standard library makes
/// while it waits.
inline constexpr milliseconds century{3'155'760'000'000};

/// Returns `begin` + `duration`, of which at most a century counts.
constexpr SteadyMoment after(SteadyMoment begin, milliseconds duration) noexcept {
    return begin + std::min(duration, century);
}
/// Returns `end` - `age`, which must not be negative.
constexpr Moment before(Moment end, milliseconds age) noexcept {
    constexpr auto first = std::chrono::ceil<milliseconds>(Moment::min().time_since_epoch());
    return age > std::chrono::floor<milliseconds>(end.time_since_epoch()) - first ? Moment::min() : end - age;
}
/// Returns the time, in microseconds since 1970, at which something with this time to live ends, or none if it never
/// does.
constexpr std::optional<std::int64_t> expiryUs(std::int64_t now_us, milliseconds ttl) noexcept {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    if (ttl.count() > (most - now_us) / 1000) return {};  // in a quarter of a million years
    return now_us + ttl.count() * 1000;
}
/// Rounds up, to at most a century.
inline milliseconds wholeMs(std::chrono::duration<double, std::milli> duration) noexcept {
    return milliseconds(static_cast<std::int64_t>(std::ceil(std::fmin(duration.count(), 3'155'760'000'000.0))));
}

/// Returns ISO 8601 text in UTC with this many digits of a second, at most six, such as "2026-01-31T12:00:00.123Z".
std::string toIso(std::int64_t unix_us, int digits);

/// Returns text such as "50 ms".
inline std::string textOf(milliseconds duration) { return std::to_string(duration.count()) + " ms"; }

}  // namespace stategraph::times
