#include "src/value/times.hpp"

#include <ctime>
#include <string>

namespace stategraph::times {

std::string toIso(std::int64_t unix_us, int digits) {
    constexpr std::int64_t second = 1'000'000;
    std::int64_t part = unix_us % second;
    if (part < 0) part += second;
    const std::time_t seconds = static_cast<std::time_t>((unix_us - part) / second);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    char text[32];
    const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    std::string fraction = std::to_string(second + part).substr(1);
    return std::string(text, size) + "." + fraction.substr(0, static_cast<std::size_t>(digits)) + "Z";
}

}  // namespace stategraph::times
