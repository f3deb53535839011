#include <stategraph/json_number.hpp>

#include <string>

#include <stategraph/error.hpp>

#include "json/folds.hpp"

namespace stategraph {

namespace json = boost::json;

JsonNumber::JsonNumber(const json::value& json) : kind_(json.kind()) {
    switch (kind_) {
        case json::kind::int64:
            integer_ = json.get_int64();
            break;
        case json::kind::uint64:
            natural_ = json.get_uint64();
            break;
        case json::kind::double_:
            real_ = json.get_double();
            break;
        default:
            throw WrongTypeError("expected a number, found " + std::string(detail::kindName(kind_)));
    }
}

json::value JsonNumber::toJson() const noexcept {
    if (kind_ == json::kind::int64) return integer_;
    if (kind_ == json::kind::uint64) return natural_;
    return real_;
}

double JsonNumber::toDouble() const noexcept {
    if (kind_ == json::kind::int64) return static_cast<double>(integer_);
    if (kind_ == json::kind::uint64) return static_cast<double>(natural_);
    return real_;
}

// `exact(a, b, to)` returns whether the result for two integers does not fit into `*to`; `real` calculates with
// doubles.
template <class Exact, class Real>
JsonNumber JsonNumber::calculate(JsonNumber a, JsonNumber b, Exact exact, Real real) noexcept {
    if (a.isDouble() || b.isDouble()) return real(a.toDouble(), b.toDouble());
    const auto fits = [&](auto* to) {
        const auto with = [&](auto first) {
            return b.kind_ == json::kind::int64 ? !exact(first, b.integer_, to) : !exact(first, b.natural_, to);
        };
        return a.kind_ == json::kind::int64 ? with(a.integer_) : with(a.natural_);
    };
    if (std::int64_t integer = 0; fits(&integer)) return integer;
    if (std::uint64_t natural = 0; fits(&natural)) return natural;
    return real(a.toDouble(), b.toDouble());
}

JsonNumber operator+(JsonNumber a, JsonNumber b) noexcept {
    const auto exact = [](auto x, auto y, auto* to) { return __builtin_add_overflow(x, y, to); };
    return JsonNumber::calculate(a, b, exact, [](double x, double y) { return x + y; });
}

JsonNumber operator-(JsonNumber a, JsonNumber b) noexcept {
    const auto exact = [](auto x, auto y, auto* to) { return __builtin_sub_overflow(x, y, to); };
    return JsonNumber::calculate(a, b, exact, [](double x, double y) { return x - y; });
}

JsonNumber operator*(JsonNumber a, JsonNumber b) noexcept {
    const auto exact = [](auto x, auto y, auto* to) { return __builtin_mul_overflow(x, y, to); };
    return JsonNumber::calculate(a, b, exact, [](double x, double y) { return x * y; });
}

bool operator<(JsonNumber a, JsonNumber b) noexcept {
    const bool is_a_signed = a.kind_ == json::kind::int64;
    const bool is_b_signed = b.kind_ == json::kind::int64;
    if (a.isDouble() || b.isDouble()) return a.toDouble() < b.toDouble();
    if (is_a_signed && is_b_signed) return a.integer_ < b.integer_;
    if (!is_a_signed && !is_b_signed) return a.natural_ < b.natural_;
    if (is_a_signed) return a.integer_ < 0 || static_cast<std::uint64_t>(a.integer_) < b.natural_;
    return b.integer_ >= 0 && a.natural_ < static_cast<std::uint64_t>(b.integer_);
}

}  // namespace stategraph
