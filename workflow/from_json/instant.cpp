#include "workflow/from_json/instant.hpp"

#include <array>
#include <charconv>
#include <string_view>

namespace stategraph::workflow::from_json {
namespace {

// Returns the number in a text that has digits in this place, otherwise none.
std::optional<int> numberIn(std::string_view text, std::size_t at, std::size_t count) {
    int number = 0;
    const char* const begin = text.data() + at;
    const auto [end, error] = std::from_chars(begin, begin + count, number);
    if (error != std::errc() || end != begin + count || number < 0) return {};
    return number;
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> instantOf(const boost::json::value& value) {
    constexpr std::string_view form = "0000-00-00T00:00:00Z";
    const boost::json::string* const given = value.if_string();
    if (given == nullptr || given->size() != form.size()) return {};
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
    using namespace std::chrono;
    const year_month_day day{year(of[0]), month(static_cast<unsigned>(of[1])),
                             std::chrono::day(static_cast<unsigned>(of[2]))};
    if (!day.ok() || of[3] > 23 || of[4] > 59 || of[5] > 59) return {};
    return sys_days(day) + hours(of[3]) + minutes(of[4]) + seconds(of[5]);
}

}  // namespace stategraph::workflow::from_json
