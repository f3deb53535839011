#include "json/partial_number.hpp"

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

PartialNumber::Place PartialNumber::after(Place place, char c) noexcept {
    if (isDigit(c)) {
        switch (place) {
            case Place::start:
            case Place::minus:
                return c == '0' ? Place::zero : Place::integer;
            case Place::integer:
                return Place::integer;
            case Place::point:
            case Place::fraction:
                return Place::fraction;
            case Place::exponent:
            case Place::sign:
            case Place::power:
                return Place::power;
            case Place::zero:
            case Place::wrong:
                return Place::wrong;
        }
    }
    const bool after_integer = place == Place::zero || place == Place::integer;
    if (c == '-' && place == Place::start) return Place::minus;
    if (c == '.' && after_integer) return Place::point;
    if ((c == 'e' || c == 'E') && (after_integer || place == Place::fraction)) return Place::exponent;
    if ((c == '-' || c == '+') && place == Place::exponent) return Place::sign;
    return Place::wrong;
}

void PartialNumber::begin(char c) {
    text_.clear();
    whole_ = 0;
    place_ = Place::start;
    append(c);
}

bool PartialNumber::takes(char c) const noexcept {
    if (c == '+') return !text_.empty() && (text_.back() == 'e' || text_.back() == 'E');
    return isDigit(c) || c == 'e' || c == 'E' || c == '-' || c == '.';
}

bool PartialNumber::append(char c) {
    place_ = after(place_, c);
    text_ += c;
    if (place_ == Place::wrong) return false;
    if (isDigit(c)) whole_ = text_.size();
    return true;
}

bool PartialNumber::isWhole() const noexcept {
    return place_ == Place::zero || place_ == Place::integer || place_ == Place::fraction || place_ == Place::power;
}

boost::json::value PartialNumber::value() const {
    const char* const begin = text_.data();
    const char* const end = begin + whole_;
    const auto read = [&](auto& number) {
        const auto [at, error] = std::from_chars(begin, end, number);
        return error == std::errc() && at == end;
    };
    std::int64_t integer = 0;
    if (read(integer)) return integer;
    std::uint64_t positive = 0;
    if (read(positive)) return positive;
    double real = 0;
    if (read(real)) return real;
    real = isTooLarge({begin, whole_}) ? std::numeric_limits<double>::infinity() : 0.0;
    return *begin == '-' ? -real : real;
}

}  // namespace stategraph::detail
