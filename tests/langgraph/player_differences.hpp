#pragma once
#include <boost/json.hpp>

// Where a server replies something else than what was recorded, on purpose.
namespace player {

/// The scenario with other expected replies. Each difference names a step (from 1), a place in its `response` as a JSON
/// pointer, what is there, and the reason:
///
///     {"step": 4, "at": "/status", "value": 404, "why": "the thread is missing"}
///
/// One of what the client received besides the replies has `"in": "result"` in place of the step, and its place is in
/// the scenario's `result`. In place of `value`: `"remove": true` for a member or an item that does not come, and
/// `"insert": V` for an item that comes before the place. They are applied in order. Errors: std::runtime_error for a
/// step or a place that does not exist, for a difference without a reason, and for one that changes nothing.
boost::json::object withDifferences(const boost::json::object& scenario, const boost::json::array& differences);

}  // namespace player
