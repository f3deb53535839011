#pragma once
#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

namespace stategraph::detail {

/// The JSON text of a value. NaN and the infinities are null, as in cborToJson(), because JSON has no such numbers;
/// boost::json::serialize() writes words for them that JSON parsers refuse. A parser of Boost returns an infinity for
/// `1e400`. A byte that is no part of a UTF-8 character is U+FFFD, because parsers refuse that too. Safe from any
/// thread; costs what serialize() costs, and one walk over the value.
std::string jsonText(const boost::json::value& value);
/// The text with U+FFFD for each byte that is no part of a UTF-8 character. Cost: a pass, and a copy.
std::string withoutStrayBytes(std::string_view bytes);

}  // namespace stategraph::detail
