#include "langgraph/time_zone.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include <stategraph/error.hpp>

namespace stategraph::langgraph {

namespace {

using namespace std::chrono;

constexpr std::size_t name_bytes_max = 64;
constexpr std::size_t file_bytes_max = std::size_t{1} << 20U;

[[noreturn]] void refuse(const std::string& why) { throw InvalidArgumentError("the time zone " + why); }

/// Whether a name stays below the folder of the database.
bool isName(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '+' ||
               c == '-' || c == '/';
    };
    return !name.empty() && name.size() <= name_bytes_max && name.front() != '/' && std::ranges::all_of(name, fits);
}

std::string folder() {
    const char* const set = std::getenv("TZDIR");  // NOLINT(concurrency-mt-unsafe): nobody changes it
    return set != nullptr && *set != '\0' ? set : "/usr/share/zoneinfo";
}

}  // namespace

/// Reads what POSIX gives the variable TZ: "EST5EDT,M3.2.0,M11.1.0", "<+03>-3".
class TimeZone::RulesReader {
public:
    explicit RulesReader(std::string_view text) : rest_(text) {}

    Rules read() {
        Rules rules;
        name();
        rules.standard = -time(24);
        if (rest_.empty()) return rules;
        name();
        rules.summer = rest_.empty() || rest_.front() == ',' ? rules.standard + hours(1) : -time(24);
        rules.begin = rule();
        rules.end = rule();
        if (!rest_.empty()) wrong();
        return rules;
    }

private:
    [[noreturn]] static void wrong() { refuse("has a file whose rules cannot be read"); }

    bool skip(char wanted) {
        if (!rest_.starts_with(wanted)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    void name() {
        const bool is_quoted = skip('<');
        std::size_t end = 0;
        const auto isPart = [&](char c) {
            return is_quoted ? c != '>' : (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        };
        while (end < rest_.size() && isPart(rest_[end])) ++end;
        if (end == 0) wrong();
        rest_.remove_prefix(end);
        if (is_quoted && !skip('>')) wrong();
    }
    int number(int most) {
        int value = 0;
        std::size_t digits = 0;
        while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9' && digits < 4) {
            value = value * 10 + (rest_.front() - '0');
            rest_.remove_prefix(1);
            ++digits;
        }
        if (digits == 0 || value > most) wrong();
        return value;
    }
    seconds time(int hours_max) {
        const bool is_negative = skip('-');
        if (!is_negative) (void)skip('+');
        seconds all = hours(number(hours_max));
        if (skip(':')) all += minutes(number(59));
        if (skip(':')) all += seconds(number(59));
        return is_negative ? -all : all;
    }
    YearlyRule rule() {
        if (!skip(',')) wrong();
        YearlyRule rule;
        if (skip('M')) {
            rule.kind = YearlyRule::Kind::weekday;
            rule.month = number(12);
            if (!skip('.')) wrong();
            rule.week = number(5);
            if (!skip('.')) wrong();
            rule.day = number(6);
            if (rule.month == 0 || rule.week == 0) wrong();
        } else {
            rule.kind = skip('J') ? YearlyRule::Kind::julian : YearlyRule::Kind::day;
            rule.day = number(365);
        }
        if (skip('/')) rule.time = time(167);
        return rule;
    }

    std::string_view rest_;
};

/// Reads the parts of a file. Each count is compared with the bytes that are left.
class TimeZone::FileReader {
public:
    explicit FileReader(std::string_view bytes) : rest_(bytes) {}

    struct Head {
        char version = 0;
        std::size_t utc_flags = 0, standard_flags = 0, leaps = 0, changes = 0, types = 0, characters = 0;
    };
    Head head() {
        Head head;
        if (take(4) != "TZif") wrong();
        head.version = take(1).front();
        take(15);
        for (std::size_t* const each :
             {&head.utc_flags, &head.standard_flags, &head.leaps, &head.changes, &head.types, &head.characters})
            *each = static_cast<std::uint32_t>(integer(4));
        return head;
    }
    void skipBody(const Head& head, std::size_t time_bytes) {
        take(head.changes * time_bytes + head.changes + head.types * 6);
        skipEnd(head, time_bytes);
    }
    void body(const Head& head, std::size_t time_bytes, TimeZone& zone) {
        if (head.leaps > 0) refuse("counts leap seconds; use the one without \"right/\"");
        if (head.types == 0 || rest_.size() / (time_bytes + 1) < head.changes) wrong();
        std::vector<sys_seconds> times;
        for (std::size_t i = 0; i < head.changes; ++i) times.emplace_back(seconds(integer(time_bytes)));
        const std::string_view kinds = take(head.changes);
        const std::string_view types = take(head.types * 6);
        const auto offsetOf = [&](std::size_t kind) {
            if (kind >= head.types) wrong();
            return seconds(FileReader(types.substr(kind * 6, 4)).integer(4));
        };
        zone.first_ = offsetOf(0);
        for (std::size_t i = 0; i < times.size(); ++i)
            zone.changes_.push_back({times[i], offsetOf(static_cast<unsigned char>(kinds[i]))});
        if (!std::ranges::is_sorted(zone.changes_, {}, &Change::at)) wrong();
        skipEnd(head, time_bytes);
    }
    std::string_view footer() {
        if (take(1) != "\n") wrong();
        return take(std::min(rest_.find('\n'), rest_.size()));
    }

private:
    [[noreturn]] static void wrong() { refuse("has a file that is damaged, or no TZif"); }

    std::string_view take(std::size_t count) {
        if (count > rest_.size()) wrong();
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }
    std::int64_t integer(std::size_t bytes) {
        std::uint64_t value = 0;
        for (const char c : take(bytes)) value = (value << 8U) | static_cast<unsigned char>(c);
        return bytes == 4 ? static_cast<std::int32_t>(value) : static_cast<std::int64_t>(value);
    }
    void skipEnd(const Head& head, std::size_t time_bytes) {
        take(head.characters + head.leaps * (time_bytes + 4) + head.standard_flags + head.utc_flags);
    }

    std::string_view rest_;
};

TimeZone TimeZone::named(const std::string& name) {
    if (name == "UTC") return {};
    if (!isName(name)) refuse("'" + name.substr(0, name_bytes_max) + "' is none of the tz database");
    std::ifstream file(folder() + "/" + name, std::ios::binary);
    std::string bytes(file_bytes_max + 1, '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    if (!bytes.starts_with("TZif") || bytes.size() > file_bytes_max)
        refuse("'" + name + "' is not in this server's tz database (" + folder() + ")");
    return parse(bytes);
}

TimeZone TimeZone::parse(std::string_view bytes) {
    TimeZone zone;
    FileReader file(bytes);
    const FileReader::Head first = file.head();
    if (first.version == 0) {  // times have 32 bits
        file.body(first, 4, zone);
        return zone;
    }
    file.skipBody(first, 4);
    file.body(file.head(), 8, zone);
    if (const std::string_view footer = file.footer(); !footer.empty()) zone.rules_ = RulesReader(footer).read();
    return zone;
}

local_seconds TimeZone::YearlyRule::in(year of) const {
    const local_days first = local_days(of / January / 1);
    switch (kind) {
        case Kind::weekday: {
            const auto wanted = weekday(static_cast<unsigned>(day));
            const auto of_month = of / std::chrono::month(static_cast<unsigned>(month));
            const local_days at = week == 5 ? local_days(of_month / wanted[last])
                                            : local_days(of_month / wanted[static_cast<unsigned>(week)]);
            return at + time;
        }
        case Kind::julian:  // from 1; the 29th of February does not count
            return first + days(day - 1 + (of.is_leap() && day > 59 ? 1 : 0)) + time;
        default:
            return first + days(day) + time;
    }
}

seconds TimeZone::Rules::offsetAt(sys_seconds at) const {
    if (!begin) return standard;
    const local_seconds shown((at + standard).time_since_epoch());
    const year of = year_month_day(floor<days>(shown)).year();
    const sys_seconds summer_begins((begin->in(of)-standard).time_since_epoch());
    const sys_seconds summer_ends((end->in(of)-summer).time_since_epoch());
    const bool is_summer =
        summer_begins < summer_ends ? at >= summer_begins && at < summer_ends : at >= summer_begins || at < summer_ends;
    return is_summer ? summer : standard;
}

seconds TimeZone::offsetAt(sys_seconds at) const {
    if (rules_ && (changes_.empty() || at >= changes_.back().at)) return rules_->offsetAt(at);
    const auto next = std::ranges::upper_bound(changes_, at, {}, &Change::at);
    return next == changes_.begin() ? first_ : std::prev(next)->offset;
}

std::vector<sys_seconds> TimeZone::instantsOf(local_seconds shown) const {
    const sys_seconds as_utc(shown.time_since_epoch());
    std::vector<sys_seconds> instants;
    for (const seconds offset : {offsetAt(as_utc - days(1)), offsetAt(as_utc + days(1))}) {
        const sys_seconds at = as_utc - offset;
        if (offsetAt(at) == offset && (instants.empty() || instants.back() != at)) instants.push_back(at);
    }
    std::ranges::sort(instants);
    return instants;
}

sys_seconds TimeZone::endOfGap(local_seconds shown) const {
    const sys_seconds as_utc(shown.time_since_epoch());
    sys_seconds before = as_utc - days(1);
    sys_seconds after = as_utc + days(1);
    const seconds old_offset = offsetAt(before);
    while (after - before > seconds(1)) {
        const sys_seconds middle = before + (after - before) / 2;
        (offsetAt(middle) == old_offset ? before : after) = middle;
    }
    return after;
}

}  // namespace stategraph::langgraph
