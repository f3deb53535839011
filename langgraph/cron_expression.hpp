#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "langgraph/time_zone.hpp"

namespace stategraph::langgraph {

/// A cron expression of five fields: minute, hour, day of the month, month, day of the week. A field is a list of `*`,
/// numbers, ranges `a-b` and steps `*/n`, `a-b/n`, `a/n`; months and days of the week may be names of three letters,
/// and Sunday is 0 or 7. A day fits if both of its fields fit or, if neither begins with `*`, one of them.
class CronExpression {
public:
    /// Errors: InvalidArgumentError, which names the field; also for a day that no year has.
    static CronExpression parse(std::string_view text);

    /// The first time after `after` at which it is due in a time zone. When clocks are put forward, a time that they
    /// never show is due as the gap ends; of a time that they show twice, the first one is due. If the field of the
    /// hour begins with `*`, it is due whenever the clocks show its minute, so in both of the hours and not for the
    /// gap. None: not within nine years. Cost: some milliseconds at most.
    std::optional<std::chrono::sys_seconds> nextAfter(std::chrono::sys_seconds after, const TimeZone& zone) const;

private:
    struct Field {
        std::uint64_t values = 0;  // a bit each
        bool is_open = false;      // it begins with '*'

        bool has(unsigned value) const { return (values >> value & 1U) != 0; }
    };
    class Reader;

    bool isDay(std::chrono::local_days day) const;
    std::optional<std::chrono::sys_seconds> firstOn(std::chrono::local_days day, std::chrono::sys_seconds after,
                                                    const TimeZone& zone) const;

    Field minutes_;
    Field hours_;
    Field days_;
    Field months_;
    Field weekdays_;
};

}  // namespace stategraph::langgraph
