#pragma once
#include <string>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/serve/protocol.hpp>

namespace stategraph::serve {

/// Returns the lines of the protocol "ui" from which a page builds a message of the assistant that another page has
/// sent: a page that reconnects to a response that continues this message begins with them. No line asks the page to
/// execute a call that has been settled.
std::vector<std::string> linesOf(const boost::json::object& message);
/// The calls in such a message.
std::vector<ShownCall> callsIn(const boost::json::object& message);

}  // namespace stategraph::serve
