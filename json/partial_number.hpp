#pragma once
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

namespace stategraph::detail {

/// Whether `c` is an ASCII digit.
constexpr bool isDigit(char c) noexcept { return c >= '0' && c <= '9'; }

/// A JSON number that arrives character by character. It keeps the longest beginning that is a number: for `1.5e` that
/// is 1.5.
class PartialNumber {
public:
    /// Begins with `c`, a digit or a minus.
    void begin(char c);
    /// Returns whether `c` can be a part of a number after what came before. A plus belongs to a number only after an
    /// `e`.
    bool takes(char c) const noexcept;
    /// Appends `c`, which `takes` has accepted. Returns false if no number begins with the resulting text, which cannot
    /// change later.
    bool append(char c);

    /// Returns whether all of the text is a number.
    bool isWhole() const noexcept;
    std::size_t size() const noexcept { return text_.size(); }
    /// Returns an integer if the text is one that fits into 64 bits, signed or unsigned, and otherwise a double,
    /// rounded correctly. Call it only if there is a value. Cost: in proportion to the text.
    boost::json::value value() const;

private:
    enum class Place { start, minus, zero, integer, point, fraction, exponent, sign, power, wrong };
    static Place after(Place place, char c) noexcept;

    std::string text_;
    std::size_t whole_ = 0;  // the length of the beginning that is a number
    Place place_ = Place::start;
};

}  // namespace stategraph::detail
