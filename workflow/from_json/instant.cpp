#include "workflow/from_json/instant.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace stategraph::workflow::from_json {
namespace {

// Returns the number in a text that has digits in this place, otherwise none.
std::optional<int> numberIn(std::string_view text, std::size_t at, std::size_t count) {
    int number = 0;
    const char* const begin = text.data() + at;
    const auto [end, error] = std::from_chars(begin, begin + count, number);
    if (error != std::errc() || end != begin + count || *begin == '-') return {};
    return number;
}

// Removes ".", and the digits after it, from the beginning of a text; returns them as nanoseconds, and none for a "."
// without digits.
std::optional<std::chrono::nanoseconds> takeFraction(std::string_view& text) {
    if (!text.starts_with('.')) return std::chrono::nanoseconds(0);
    text.remove_prefix(1);
    std::int64_t sum = 0;
    std::int64_t unit = 100'000'000;
    const std::size_t before = text.size();
    for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1), unit /= 10)
        sum += unit * (text.front() - '0');
    if (text.size() == before) return {};
    return std::chrono::nanoseconds(sum);
}

// Returns how far a place is ahead of UTC, for "Z", "+02:00" and "-02:30".
std::optional<std::chrono::minutes> offsetOf(std::string_view text) {
    if (text == "Z") return std::chrono::minutes(0);
    if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return {};
    const auto hours = numberIn(text, 1, 2);
    const auto minutes = numberIn(text, 4, 2);
    if (!hours || !minutes || *hours > 23 || *minutes > 59) return {};
    const std::chrono::minutes ahead(*hours * 60 + *minutes);
    return text[0] == '+' ? ahead : -ahead;
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> instantOf(const boost::json::value& value) {
    constexpr std::string_view form = "0000-00-00T00:00:00";
    const boost::json::string* const given = value.if_string();
    if (given == nullptr || given->size() <= form.size()) return {};
    const std::string_view text = *given;
    for (std::size_t i = 0; i < form.size(); ++i) {
        if (form[i] != '0' && text[i] != form[i]) return {};
    }
    constexpr std::array<std::size_t, 6> places{0, 5, 8, 11, 14, 17};
    std::array<int, 6> of{};
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto number = numberIn(text, places[i], i == 0 ? 4 : 2);
        if (!number) return {};
        of[i] = *number;
    }
    std::string_view rest = text.substr(form.size());
    const auto fraction = takeFraction(rest);
    const auto offset = offsetOf(rest);
    using namespace std::chrono;
    const year_month_day day{year(of[0]), month(static_cast<unsigned>(of[1])),
                             std::chrono::day(static_cast<unsigned>(of[2]))};
    if (!fraction || !offset || !day.ok() || of[3] > 23 || of[4] > 59 || of[5] > 59) return {};
    const auto whole = sys_days(day) + hours(of[3]) + minutes(of[4]) + seconds(of[5]) - *offset;
    // The clock has fewer years than the form.
    using Clock = system_clock::time_point;
    if (whole >= floor<seconds>(Clock::max())) return Clock::max();
    if (whole <= ceil<seconds>(Clock::min())) return Clock::min();
    return whole + duration_cast<system_clock::duration>(*fraction);
}

}  // namespace stategraph::workflow::from_json
