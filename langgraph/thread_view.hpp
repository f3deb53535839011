#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "langgraph/records.hpp"
#include "langgraph/service.hpp"

// A thread as clients read it: its record, and what its log says.
namespace stategraph::langgraph {

/// "busy" while a run has not ended; otherwise how the log stands: "idle", "interrupted" or "error". Errors: the
/// saver's.
std::string threadStatus(const Service& service, const ThreadRecord& thread);
/// The members that are selected; all if none is. Values and questions are read only if they are among them; the size
/// of the values is added to `bytes`.
boost::json::object threadJson(const Service& service, const ThreadRecord& thread,
                               const std::vector<std::string>& select = {}, std::size_t* bytes = nullptr);
/// The values of a thread as JSON, `{}` if it has none.
boost::json::value threadValues(const Service& service, const ThreadRecord& thread);
/// Whether a value has everything that a filter has: of objects all members of the filter's, others equal it.
bool contains(const boost::json::value& value, const boost::json::value& filter);

}  // namespace stategraph::langgraph
