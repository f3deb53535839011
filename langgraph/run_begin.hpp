#pragma once
#include <memory>
#include <optional>
#include <string>

#include "langgraph/body.hpp"
#include "langgraph/call.hpp"
#include "langgraph/live_run.hpp"

namespace stategraph::langgraph {

/// Begins a run that a request asks for, on a thread or on one of its own. It does not count toward the client's
/// limits. Errors: ApiError (409 and 503 if it cannot be begun), those of Graph::prepare and of the store. Nothing was
/// stored then.
std::shared_ptr<LiveRun> beginRun(const Call& call, const Body& body, const std::optional<std::string>& thread_id);

}  // namespace stategraph::langgraph
