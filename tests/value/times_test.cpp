// NOT WITH: sanitize=thread
#include "src/value/times.hpp"

#include <doctest/doctest.h>

using namespace stategraph;
using namespace std::chrono_literals;
using times::Moment;

TEST_CASE("times that a clock cannot hold become the first or the last whole one that it can") {
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    CHECK(times::ofUnixMs(1500) == Moment(1500ms));
    CHECK(times::ofUnixMs(-1) == Moment(-1ms));
    CHECK(times::ofUnixUs(7) == Moment(std::chrono::duration_cast<Moment::duration>(7us)));
    CHECK(times::ofUnixMs(most) == std::chrono::floor<std::chrono::milliseconds>(Moment::max()));
    CHECK(times::ofUnixMs(least) == std::chrono::ceil<std::chrono::milliseconds>(Moment::min()));
    CHECK(times::ofUnixUs(most) == std::chrono::floor<std::chrono::microseconds>(Moment::max()));
    CHECK(times::ofUnixUs(least) == std::chrono::ceil<std::chrono::microseconds>(Moment::min()));
    CHECK(CheckpointId(~std::uint64_t{0}, 1).time() < Moment::max());
}

TEST_CASE("a time becomes whole milliseconds that are not before it") {
    CHECK(times::unixMs(Moment()) == 0);
    CHECK(times::unixMs(Moment(5ms)) == 5);
    CHECK(times::unixMs(Moment(5ms) + Moment::duration(1)) == 6);
    CHECK(times::unixMs(Moment() - Moment::duration(1)) == 0);
    CHECK(times::unixMs(Moment::max()) > 0);
    CHECK(times::unixMs(Moment::min()) < 0);
}

TEST_CASE("sums with the longest durations do not overflow") {
    constexpr auto longest = std::chrono::milliseconds::max();
    const auto now = std::chrono::steady_clock::now();
    CHECK(times::after(now, 5ms) == now + 5ms);
    CHECK(times::after(now, longest) == now + times::century);
    CHECK(times::before(Moment(1s), 10ms) == Moment(990ms));
    CHECK(times::before(Moment(1s), longest) == Moment::min());
    CHECK(times::before(Moment::min(), longest) == Moment::min());
    CHECK(times::before(Moment::max(), longest) == Moment::min());
    CHECK(times::expiryUs(10, 2ms) == 2010);
    CHECK_FALSE(times::expiryUs(10, longest));
    CHECK(times::wholeMs(0.2ms) == 1ms);
    CHECK(times::wholeMs(std::chrono::duration<double, std::milli>(1e300)) == times::century);
}
