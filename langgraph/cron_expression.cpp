#include "langgraph/cron_expression.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <stategraph/error.hpp>

namespace stategraph::langgraph {

namespace {

using namespace std::chrono;

constexpr std::size_t text_bytes_max = 1024;
constexpr days horizon(9 * 366);  // from one 29th of February to the next there may be eight years

struct Range {
    std::string_view name;
    unsigned least;
    unsigned most;
    std::span<const std::string_view> names = {};  // the first one means `least`
};

constexpr std::array<std::string_view, 12> month_names{"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> day_names{"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

std::vector<std::string_view> fieldsIn(std::string_view text) {
    std::vector<std::string_view> fields;
    constexpr std::string_view blanks = " \t";
    for (std::size_t at = text.find_first_not_of(blanks); at < text.size(); at = text.find_first_not_of(blanks, at)) {
        const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
        fields.push_back(text.substr(at, end - at));
        at = end;
    }
    return fields;
}

bool isName(std::string_view text, std::string_view name) {
    return std::ranges::equal(text, name,
                              [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

}  // namespace

/// Reads one field.
class CronExpression::Reader {
public:
    Reader(std::string_view text, const Range& range) : text_(text), range_(range) {}

    Field read() const {
        Field field{.is_open = text_.starts_with('*')};
        std::string_view rest = text_;
        for (bool is_last = false; !is_last;) {
            const std::size_t comma = rest.find(',');
            is_last = comma == std::string_view::npos;
            field.values |= part(rest.substr(0, comma));
            if (!is_last) rest.remove_prefix(comma + 1);
        }
        return field;
    }

private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw InvalidArgumentError("the " + std::string(range_.name) + " '" + std::string(text_) + "' " + why);
    }
    unsigned number(std::string_view text, unsigned least, unsigned most) const {
        unsigned value = 0;
        const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (wrong != std::errc() || end != text.data() + text.size() || value < least || value > most)
            refuse("has '" + std::string(text) + "', which is no number from " + std::to_string(least) + " to " +
                   std::to_string(most));
        return value;
    }
    unsigned value(std::string_view text) const {
        for (std::size_t i = 0; i < range_.names.size(); ++i) {
            if (isName(text, range_.names[i])) return range_.least + static_cast<unsigned>(i);
        }
        return number(text, range_.least, range_.most);
    }
    std::uint64_t part(std::string_view text) const {
        unsigned step = 1;
        const std::size_t slash = text.find('/');
        if (slash != std::string_view::npos) step = number(text.substr(slash + 1), 1, range_.most);
        const std::string_view values = text.substr(0, slash);
        unsigned first = range_.least;
        unsigned last = range_.most;
        if (values != "*") {
            const std::size_t dash = values.find('-');
            first = value(values.substr(0, dash));
            if (dash != std::string_view::npos) {
                last = value(values.substr(dash + 1));
            } else if (slash == std::string_view::npos) {
                last = first;
            }
        }
        if (last == 0 && range_.most == 7 && first > 0) last = 7;  // a week ends on Sunday
        if (last < first) refuse("has a range that ends before it begins");
        std::uint64_t bits = 0;
        for (unsigned each = first; each <= last; each += step) bits |= std::uint64_t{1} << each;
        return bits;
    }

    const std::string_view text_;
    const Range& range_;
};

CronExpression CronExpression::parse(std::string_view text) {
    if (text.size() > text_bytes_max) throw InvalidArgumentError("the cron expression has more than 1024 bytes");
    const std::vector<std::string_view> fields = fieldsIn(text);
    if (fields.size() != 5)
        throw InvalidArgumentError("the cron expression has " + std::to_string(fields.size()) +
                                   " fields; it needs five: minute, hour, day of the month, month, day of the week");
    CronExpression cron;
    cron.minutes_ = Reader(fields[0], {"minute", 0, 59}).read();
    cron.hours_ = Reader(fields[1], {"hour", 0, 23}).read();
    cron.days_ = Reader(fields[2], {"day of the month", 1, 31}).read();
    cron.months_ = Reader(fields[3], {"month", 1, 12, month_names}).read();
    cron.weekdays_ = Reader(fields[4], {"day of the week", 0, 7, day_names}).read();
    if (cron.weekdays_.has(7)) cron.weekdays_.values |= 1U;
    // What is due on some day is due within nine years of any day.
    if (!cron.nextAfter(sys_days(2000y / January / 1), TimeZone::named("UTC")))
        throw InvalidArgumentError("the cron expression is never due: no year has such a day");
    return cron;
}

bool CronExpression::isDay(local_days day) const {
    const year_month_day date(day);
    if (!months_.has(static_cast<unsigned>(date.month()))) return false;
    const bool fits_day = days_.has(static_cast<unsigned>(date.day()));
    const bool fits_weekday = weekdays_.has(weekday(day).c_encoding());
    return days_.is_open || weekdays_.is_open ? fits_day && fits_weekday : fits_day || fits_weekday;
}

std::optional<sys_seconds> CronExpression::firstOn(local_days day, sys_seconds after, const TimeZone& zone) const {
    std::optional<sys_seconds> first;
    const auto take = [&](sys_seconds at) {
        if (at > after && (!first || at < *first)) first = at;
    };
    for (unsigned hour = 0; hour < 24; ++hour) {
        for (unsigned minute = 0; hours_.has(hour) && minute < 60; ++minute) {
            if (!minutes_.has(minute)) continue;
            const local_seconds shown = day + hours(hour) + minutes(minute);
            const std::vector<sys_seconds> instants = zone.instantsOf(shown);
            if (hours_.is_open) {
                for (const sys_seconds at : instants) take(at);
            } else {
                take(instants.empty() ? zone.endOfGap(shown) : instants.front());
            }
        }
    }
    return first;
}

std::optional<sys_seconds> CronExpression::nextAfter(sys_seconds after, const TimeZone& zone) const {
    const local_seconds shown((after + zone.offsetAt(after)).time_since_epoch());
    // The day before, because a repeated hour may reach over midnight.
    const local_days begin = floor<days>(shown) - days(1);
    for (local_days day = begin; day < begin + horizon; day += days(1)) {
        if (!isDay(day)) continue;
        const auto first = firstOn(day, after, zone);
        if (!first) continue;
        // Clocks that are put back over midnight show the next day first.
        const auto next = isDay(day + days(1)) ? firstOn(day + days(1), after, zone) : std::nullopt;
        return next ? std::min(*first, *next) : first;
    }
    return {};
}

}  // namespace stategraph::langgraph
