#pragma once
#include <exception>
#include <memory>
#include <string>

#include <stategraph/config.hpp>
#include <stategraph/langgraph/graph.hpp>
#include <stategraph/task.hpp>

#include "langgraph/live_run.hpp"
#include "langgraph/service.hpp"

namespace stategraph::langgraph {

/// Makes a run: from the event `metadata` to what is stored of its end. A run that another process has left is settled
/// from the log first. Throws what the run ended with, after it was stored and told.
Task<> drive(std::shared_ptr<Service> service, std::shared_ptr<LiveRun> run, RunConfig config);

/// What a client is told of the error of a run.
ReportedError reportedError(const std::exception_ptr& error, const ServedGraph& graph,
                            const serve::ErrorText& error_text);
/// Tells readers that the run failed.
void reportFailure(LiveRun& run, const ReportedError& error);
/// What clients get who wait for a run that failed.
std::string failureResult(const ReportedError& error);

}  // namespace stategraph::langgraph
