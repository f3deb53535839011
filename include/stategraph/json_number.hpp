#pragma once
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <boost/json/value.hpp>

namespace stategraph {

/// A number of JSON, with which reducers of numbers (`sg::sum`, `sg::min`, `sg::max`, and your own) calculate in
/// channels of a JsonState. The result of two integers is an exact integer if it fits into 64 bits, signed or unsigned;
/// otherwise, and with a double, it is a double. Integers of either kind are compared exactly. A value type.
class JsonNumber {
public:
    template <class T>
        requires((std::integral<T> && !std::same_as<T, bool>) || std::floating_point<T>)
    JsonNumber(T number) noexcept {
        if constexpr (std::floating_point<T>) {
            kind_ = boost::json::kind::double_;
            real_ = static_cast<double>(number);
        } else if constexpr (std::is_signed_v<T>) {
            kind_ = boost::json::kind::int64;
            integer_ = number;
        } else {
            kind_ = boost::json::kind::uint64;
            natural_ = number;
        }
    }
    /// Reads a number. Errors: WrongTypeError if the value is not a number.
    explicit JsonNumber(const boost::json::value& json);

    boost::json::value toJson() const noexcept;

    friend JsonNumber operator+(JsonNumber a, JsonNumber b) noexcept;
    friend JsonNumber operator-(JsonNumber a, JsonNumber b) noexcept;
    friend JsonNumber operator*(JsonNumber a, JsonNumber b) noexcept;
    friend bool operator<(JsonNumber a, JsonNumber b) noexcept;
    friend bool operator>(JsonNumber a, JsonNumber b) noexcept { return b < a; }

private:
    bool isDouble() const noexcept { return kind_ == boost::json::kind::double_; }
    double toDouble() const noexcept;
    template <class Exact, class Real>
    static JsonNumber calculate(JsonNumber a, JsonNumber b, Exact exact, Real real) noexcept;

    boost::json::kind kind_;  // the kind of number that it holds
    union {
        std::int64_t integer_;
        std::uint64_t natural_;
        double real_;
    };
};

}  // namespace stategraph
