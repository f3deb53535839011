#include "json/nearest_double.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
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

/// Reads a number of at most 15 digits without an exponent. It is the quotient of two doubles that are exact, so it is
/// rounded once. Returns whether the text is one.
bool isShort(std::string_view text, double& number) noexcept {
    static constexpr std::array powers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const bool is_negative = text.front() == '-';
    if (is_negative) text.remove_prefix(1);
    std::int64_t digits = 0;
    std::size_t count = 0;
    std::size_t after_point = 0;
    bool is_after_point = false;
    for (const char c : text) {
        if (c == '.') {
            is_after_point = true;
        } else if (c >= '0' && c <= '9') {
            digits = digits * 10 + (c - '0');
            if (digits != 0 && ++count > 15) return false;
            if (is_after_point && ++after_point == powers.size()) return false;
        } else {
            return false;
        }
    }
    number = static_cast<double>(digits) / powers[after_point];
    if (is_negative) number = -number;
    return true;
}

}  // namespace

double nearestDouble(std::string_view number) noexcept {
    double real = 0;
    if (isShort(number, real)) return real;
    const auto [at, error] = std::from_chars(number.data(), number.data() + number.size(), real);
    if (error == std::errc()) return real;
    real = isTooLarge(number) ? std::numeric_limits<double>::infinity() : 0.0;
    return number.front() == '-' ? -real : real;
}

}  // namespace stategraph::detail
