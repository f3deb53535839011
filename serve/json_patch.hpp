#pragma once
#include <boost/json.hpp>

namespace stategraph::serve {

/// The JSON Patch (RFC 6902) that changes one value into the other: `add`, `remove` and `replace`. Equal values give an
/// empty list. Of two lists, the elements that both begin with and end with stay. Cost: the size of both values, times
/// how deeply they are nested.
boost::json::array patchOf(const boost::json::value& from, const boost::json::value& to);

}  // namespace stategraph::serve
