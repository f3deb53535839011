#pragma once
#include <string>
#include <vector>

#include <boost/json.hpp>

namespace stategraph::serve {

/// The parts of the message that a page of the AI SDK has built when it has received these lines of the protocol "ui",
/// which belong to one message. Lines that leave nothing in a message are left out. See also linesOf, the other way.
boost::json::array partsBuiltOf(const std::vector<std::string>& lines);

}  // namespace stategraph::serve
