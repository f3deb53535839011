#pragma once
#include <vector>

#include <boost/json.hpp>

#include <stategraph/mcp/client.hpp>

namespace stategraph::mcp::detail {

/// Adds the tools of one page. Errors: std::runtime_error that says what is wrong with the page.
void readTools(const boost::json::object& page, std::vector<ToolInfo>& tools);
/// Reads the result of `tools/call`. Parts that it does not know have only their type. Errors: as above.
CallResult readResult(const boost::json::object& result);

}  // namespace stategraph::mcp::detail
