#pragma once
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

namespace stategraph::detail {

/// Whether `c` is an ASCII digit.
constexpr bool isDigit(char c) noexcept { return c >= '0' && c <= '9'; }

/// A JSON number that arrives character by character. It keeps the longest beginning that is a number: of `1.5e` it is
/// 1.5.
class PartialNumber {
public:
    /// `c` is a digit or a minus.
    void begin(char c);
    /// Whether `c` can be a part of a number after what came before. A plus belongs to a number only after an `e`.
    bool takes(char c) const noexcept;
    /// Appends `c`, which `takes` accepted. False if no number begins as the text now does, which stays so.
    bool append(char c);

    /// Whether all of the text is a number.
    bool isWhole() const noexcept;
    std::size_t size() const noexcept { return text_.size(); }
    /// An integer if the text is one that fits into 64 bits, signed or unsigned; else a double, rounded correctly. Call
    /// it only if there is a value. Cost: in proportion to the text.
    boost::json::value value() const;

private:
    enum class Place { start, minus, zero, integer, point, fraction, exponent, sign, power, wrong };
    static Place after(Place place, char c) noexcept;

    std::string text_;
    std::size_t whole_ = 0;  // the length of the beginning that is a number
    Place place_ = Place::start;
};

}  // namespace stategraph::detail
