#include "json/nearest_double.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

namespace stategraph::detail {
namespace {

// Returns whether a number that does not fit into a double is too large, and not too small. The place of its first
// digit that is not zero, moved by its exponent, decides.
bool isTooLarge(std::string_view text) {
    const std::size_t mantissa_end = std::min(text.find_first_of("eE"), text.size());
    const std::string_view mantissa = text.substr(0, mantissa_end);
    const auto point = static_cast<std::int64_t>(std::min(mantissa.find('.'), mantissa.size()));
    const auto first = static_cast<std::int64_t>(std::min(mantissa.find_first_of("123456789"), mantissa.size()));
    std::int64_t exponent = 0;
    if (mantissa_end != text.size()) {
        std::string_view power = text.substr(mantissa_end + 1);
        if (power.front() == '+') power.remove_prefix(1);
        constexpr std::int64_t endless = 1'000'000'000;
        const auto [at, error] = std::from_chars(power.data(), power.data() + power.size(), exponent);
        if (error != std::errc()) exponent = power.front() == '-' ? -endless : endless;
    }
    return exponent > first - point;
}

}  // namespace

double nearestDouble(std::string_view number) noexcept {
    double real = 0;
    const auto [at, error] = std::from_chars(number.data(), number.data() + number.size(), real);
    if (error == std::errc()) return real;
    real = isTooLarge(number) ? std::numeric_limits<double>::infinity() : 0.0;
    return number.front() == '-' ? -real : real;
}

}  // namespace stategraph::detail
