#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

#include "langgraph/cron_expression.hpp"
#include "langgraph/identifiers.hpp"
#include "langgraph/time_zone.hpp"
#include "tests/langgraph/zone_bytes.hpp"

namespace {

using stategraph::langgraph::CronExpression;
using stategraph::langgraph::TimeZone;
using Times = std::vector<std::string>;

/// The first times after another one, as UTC to the minute.
Times dueAfter(std::string_view expression, std::string_view after, std::size_t count, const TimeZone& zone = {}) {
    const CronExpression cron = CronExpression::parse(expression);
    Times times;
    auto at = zone_bytes::utc(after);
    while (times.size() < count) {
        const auto next = cron.nextAfter(at, zone);
        REQUIRE(next.has_value());
        at = *next;
        times.push_back(stategraph::langgraph::isoTime(at, 0).substr(0, 16));
    }
    return times;
}

std::string refused(std::string_view expression) {
    try {
        (void)CronExpression::parse(expression);
    } catch (const stategraph::InvalidArgumentError& why) {
        return why.message();
    }
    return {};
}

const TimeZone& berlin() {
    static const TimeZone zone = TimeZone::parse(zone_bytes::withRules("CET-1CEST,M3.5.0,M10.5.0/3"));
    return zone;
}

TEST_CASE("numbers, ranges, steps, lists and names say when it is due") {
    CHECK(dueAfter("*/15 9-17 * * mon-fri", "2026-01-02T17:30:00Z", 3) ==
          Times{"2026-01-02T17:45", "2026-01-05T09:00", "2026-01-05T09:15"});
    CHECK(dueAfter("0 12 1 JAN,jul *", "2026-01-01T12:00:00Z", 2) == Times{"2026-07-01T12:00", "2027-01-01T12:00"});
    CHECK(dueAfter("5/20 1,3 * * *", "2026-01-01T01:30:00Z", 3) ==
          Times{"2026-01-01T01:45", "2026-01-01T03:05", "2026-01-01T03:25"});
    CHECK(dueAfter("0 0 * * 7", "2026-01-01T00:00:00Z", 2) == Times{"2026-01-04T00:00", "2026-01-11T00:00"});
    CHECK(dueAfter("0 0 * * sat-sun", "2026-01-01T00:00:00Z", 3) ==
          Times{"2026-01-03T00:00", "2026-01-04T00:00", "2026-01-10T00:00"});
    CHECK(dueAfter("0 0 29 2 *", "2096-03-01T00:00:00Z", 1) == Times{"2104-02-29T00:00"});
    CHECK(dueAfter("  0\t0 31 * *  ", "2026-01-31T00:00:00Z", 2) == Times{"2026-03-31T00:00", "2026-05-31T00:00"});
    // A time that is due now is over.
    CHECK(dueAfter("* * * * *", "2026-01-01T00:00:00Z", 1) == Times{"2026-01-01T00:01"});
    CHECK(dueAfter("* * * * *", "2026-01-01T00:00:59Z", 1) == Times{"2026-01-01T00:01"});
}

TEST_CASE("with a day of the month and a day of the week, one of them is enough; with a * in one, both must fit") {
    CHECK(dueAfter("0 0 13 * fri", "2026-02-07T00:00:00Z", 3) ==
          Times{"2026-02-13T00:00", "2026-02-20T00:00", "2026-02-27T00:00"});
    CHECK(dueAfter("0 0 13 * mon", "2026-02-07T00:00:00Z", 2) == Times{"2026-02-09T00:00", "2026-02-13T00:00"});
    CHECK(dueAfter("0 0 */2 * mon", "2026-02-07T00:00:00Z", 2) == Times{"2026-02-09T00:00", "2026-02-23T00:00"});
}

TEST_CASE("a time that clocks skip is due as the gap ends, and one that they show twice is due once") {
    CHECK(dueAfter("30 2 * * *", "2026-03-28T02:00:00Z", 2, berlin()) == Times{"2026-03-29T01:00", "2026-03-30T00:30"});
    CHECK(dueAfter("0,30 2-3 * * *", "2026-03-29T00:00:00Z", 3, berlin()) ==
          Times{"2026-03-29T01:00", "2026-03-29T01:30", "2026-03-30T00:00"});
    CHECK(dueAfter("30 2 * * *", "2026-10-24T01:00:00Z", 2, berlin()) == Times{"2026-10-25T00:30", "2026-10-26T01:30"});
    const TimeZone new_york = TimeZone::parse(zone_bytes::withRules("EST5EDT,M3.2.0,M11.1.0"));
    CHECK(dueAfter("0 2 * * sun", "2026-03-07T12:00:00Z", 2, new_york) ==
          Times{"2026-03-08T07:00", "2026-03-15T06:00"});
    CHECK(dueAfter("15 1 1 11 *", "2026-10-31T12:00:00Z", 1, new_york) == Times{"2026-11-01T05:15"});
    // Half an hour is repeated.
    const TimeZone lord_howe = TimeZone::parse(zone_bytes::withRules("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"));
    CHECK(dueAfter("45 1 * * *", "2026-04-04T00:00:00Z", 2, lord_howe) ==
          Times{"2026-04-04T14:45", "2026-04-05T15:15"});
}

TEST_CASE("what is due each hour follows the clocks: in both of the same hours, and not for the one that is skipped") {
    CHECK(dueAfter("30 * * * *", "2026-03-29T00:00:00Z", 2, berlin()) == Times{"2026-03-29T00:30", "2026-03-29T01:30"});
    CHECK(dueAfter("30 * * * *", "2026-10-25T00:00:00Z", 3, berlin()) ==
          Times{"2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T02:30"});
    // The clocks are put back over midnight.
    const TimeZone over_midnight = TimeZone::parse(zone_bytes::withRules("AAA0BBB,M3.5.0/0,M10.5.0/0:30"));
    CHECK(dueAfter("15,45 * * * *", "2026-10-24T22:30:00Z", 4, over_midnight) ==
          Times{"2026-10-24T22:45", "2026-10-24T23:15", "2026-10-24T23:45", "2026-10-25T00:15"});
}

TEST_CASE("an expression that cannot be read is refused, and the message names the field") {
    CHECK(refused("* * * *").find("has 4 fields") != std::string::npos);
    CHECK(refused("").find("has 0 fields") != std::string::npos);
    CHECK(refused("@daily").find("has 1 fields") != std::string::npos);
    CHECK(refused("60 * * * *") == "the minute '60' has '60', which is no number from 0 to 59");
    CHECK(refused("* 24 * * *").starts_with("the hour '24'"));
    CHECK(refused("* * 0 * *").starts_with("the day of the month '0'"));
    CHECK(refused("* * * foo *").starts_with("the month 'foo'"));
    CHECK(refused("* * * * 8").starts_with("the day of the week '8'"));
    CHECK(refused("5-1 * * * *").find("ends before it begins") != std::string::npos);
    for (const char* const wrong : {"*/0 * * * *", "1,,2 * * * *", "1- * * * *", "-1 * * * *", "+1 * * * *",
                                    "1/ * * * *", "** * * * *", "*/2/3 * * * *", "L * * * *", "1.5 * * * *"}) {
        CAPTURE(wrong);
        CHECK(refused(wrong).starts_with("the minute '"));
    }
    CHECK(refused("0 0 30 2 *").find("no year has such a day") != std::string::npos);
    CHECK(refused(std::string(2000, '1')).find("more than 1024 bytes") != std::string::npos);
}

}  // namespace
