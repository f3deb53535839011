#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

#include "langgraph/time_zone.hpp"
#include "tests/langgraph/zone_bytes.hpp"

namespace {

using namespace std::chrono;
using stategraph::InvalidArgumentError;
using stategraph::langgraph::TimeZone;
using zone_bytes::local;
using zone_bytes::utc;

TEST_CASE("after the last change of its file a zone follows its yearly rules, on both halves of the earth") {
    const TimeZone berlin = TimeZone::parse(zone_bytes::withRules("CET-1CEST,M3.5.0,M10.5.0/3"));
    CHECK(berlin.offsetAt(utc("2026-03-29T00:59:59Z")) == hours(1));
    CHECK(berlin.offsetAt(utc("2026-03-29T01:00:00Z")) == hours(2));
    CHECK(berlin.offsetAt(utc("2026-10-25T00:59:59Z")) == hours(2));
    CHECK(berlin.offsetAt(utc("2026-10-25T01:00:00Z")) == hours(1));
    CHECK(berlin.offsetAt(utc("2199-07-01T00:00:00Z")) == hours(2));
    const TimeZone sydney = TimeZone::parse(zone_bytes::withRules("AEST-10AEDT,M10.1.0,M4.1.0/3"));
    CHECK(sydney.offsetAt(utc("2026-01-01T00:00:00Z")) == hours(11));
    CHECK(sydney.offsetAt(utc("2026-04-04T16:00:00Z")) == hours(10));
    CHECK(sydney.offsetAt(utc("2026-10-03T15:59:59Z")) == hours(10));
    CHECK(sydney.offsetAt(utc("2026-10-03T16:00:00Z")) == hours(11));
    const TimeZone india = TimeZone::parse(zone_bytes::withRules("IST-5:30"));
    CHECK(india.offsetAt(utc("2026-01-01T00:00:00Z")) == minutes(330));
    // Summer is the standard there, and winter the exception.
    const TimeZone dublin = TimeZone::parse(zone_bytes::withRules("IST-1GMT0,M10.5.0,M3.5.0/1"));
    CHECK(dublin.offsetAt(utc("2026-01-01T00:00:00Z")) == hours(0));
    CHECK(dublin.offsetAt(utc("2026-07-01T00:00:00Z")) == hours(1));
    const TimeZone days_of_year = TimeZone::parse(zone_bytes::withRules("<+01>-1<+02>,J60/0,299/24"));
    CHECK(days_of_year.offsetAt(utc("2028-02-29T22:59:59Z")) == hours(1));
    CHECK(days_of_year.offsetAt(utc("2028-02-29T23:00:00Z")) == hours(2));
}

TEST_CASE("a time that clocks show twice has two instants, and one that they skip has none") {
    const TimeZone berlin = TimeZone::parse(zone_bytes::withRules("CET-1CEST,M3.5.0,M10.5.0/3"));
    using Instants = std::vector<sys_seconds>;
    CHECK(berlin.instantsOf(local("2026-06-01T12:00:00Z")) == Instants{utc("2026-06-01T10:00:00Z")});
    CHECK(berlin.instantsOf(local("2026-10-25T02:30:00Z")) ==
          Instants{utc("2026-10-25T00:30:00Z"), utc("2026-10-25T01:30:00Z")});
    CHECK(berlin.instantsOf(local("2026-03-29T02:30:00Z")).empty());
    CHECK(berlin.endOfGap(local("2026-03-29T02:30:00Z")) == utc("2026-03-29T01:00:00Z"));
}

TEST_CASE("changes in a file hold until its rules do") {
    const std::string bytes = zone_bytes::withChanges(
        {{utc("1990-01-01T00:00:00Z"), 1}, {utc("2000-01-01T00:00:00Z"), 0}}, {0, 3600}, "<+02>-2");
    const TimeZone zone = TimeZone::parse(bytes);
    CHECK(zone.offsetAt(utc("1980-01-01T00:00:00Z")) == hours(0));
    CHECK(zone.offsetAt(utc("1990-01-01T00:00:00Z")) == hours(1));
    CHECK(zone.offsetAt(utc("1999-12-31T23:59:59Z")) == hours(1));
    CHECK(zone.offsetAt(utc("2000-01-01T00:00:00Z")) == hours(2));
}

TEST_CASE("a file that is cut anywhere is refused") {
    const std::string bytes =
        zone_bytes::withChanges({{utc("1990-01-01T00:00:00Z"), 1}}, {0, 3600}, "CET-1CEST,M3.5.0,M10.5.0/3");
    for (std::size_t size = 0; size + 1 < bytes.size(); ++size) {
        CAPTURE(size);
        try {
            (void)TimeZone::parse(bytes.substr(0, size));
            CHECK(size > bytes.size() - 28);  // rules that are cut may be rules
        } catch (const InvalidArgumentError&) {
        }
    }
    std::string huge = bytes;
    huge.replace(32, 4, "\x7f\xff\xff\xff");
    CHECK_THROWS_AS(TimeZone::parse(huge), InvalidArgumentError);
}

TEST_CASE("a name that leads out of the database, or that it does not have, is refused") {
    for (const char* const name : {"", "/etc/passwd", "../../../etc/passwd", "Europe/../../passwd", "Nowhere/Nothing",
                                   "Europe", "zone.tab", "Europe/Berlin\n"}) {
        CAPTURE(name);
        CHECK_THROWS_AS(TimeZone::named(name), InvalidArgumentError);
    }
    CHECK(TimeZone::named("UTC").offsetAt(utc("2026-01-01T00:00:00Z")) == hours(0));
}

TEST_CASE("a zone is found by its name") {
    try {
        const TimeZone berlin = TimeZone::named("Europe/Berlin");
        CHECK(berlin.offsetAt(utc("2026-07-01T00:00:00Z")) == hours(2));
        CHECK(berlin.offsetAt(utc("1945-06-01T00:00:00Z")) == hours(3));
    } catch (const InvalidArgumentError&) {
        MESSAGE("SKIP: this machine has no tz database");
    }
}

}  // namespace
