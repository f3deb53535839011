#pragma once
#include <memory>
#include <optional>
#include <string>

#include "langgraph/body.hpp"
#include "langgraph/call.hpp"
#include "langgraph/live_run.hpp"
#include "langgraph/records.hpp"

namespace stategraph::langgraph {

/// Checks what a request asks of a run, on a thread or on one of its own. Errors: ApiError, and those of
/// Graph::prepare.
void checkRun(const Call& call, const Body& body, const std::optional<std::string>& thread_id);

/// Begins such a run, and stores more together with it. It does not count toward the client's limits. Errors: as
/// checkRun; 409 and 503 if it cannot be begun; those of the store. Nothing was stored then.
std::shared_ptr<LiveRun> beginRun(const Call& call, const Body& body, const std::optional<std::string>& thread_id,
                                  const ApiRecords::Batch& more = {});

}  // namespace stategraph::langgraph
