#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/json/value.hpp>

#include "json/schema/work.hpp"

// Values as JSON Schema compares them: numbers by their value, texts whole.
namespace stategraph::schema {

/// The types that a value has: 3 and 3.0 are a number and an integer.
std::uint64_t typesOf(const boost::json::value& value) noexcept;
/// Numbers are compared exactly. Below 0: `a` is smaller; above 0: it is larger; none: one of them is not a number.
std::optional<int> compareNumbers(const boost::json::value& a, const boost::json::value& b) noexcept;
bool isMultiple(const boost::json::value& number, const boost::json::value& divisor) noexcept;
bool areEqual(const boost::json::value& a, const boost::json::value& b, Work& work);
/// The places of two items that are equal, if there are any.
std::optional<std::pair<std::size_t, std::size_t>> equalPair(const boost::json::array& items, Work& work);
/// The number of Unicode characters.
std::size_t charactersIn(std::string_view text) noexcept;

}  // namespace stategraph::schema
