#include "json/partial_number.hpp"

#include <charconv>
#include <cstdint>
#include <system_error>

#include "json/nearest_double.hpp"

namespace stategraph::detail {
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
    return nearestDouble({begin, whole_});
}

}  // namespace stategraph::detail
