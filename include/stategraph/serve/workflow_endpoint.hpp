#pragma once
#include <memory>

#include <stategraph/serve/endpoint.hpp>
#include <stategraph/workflow/run.hpp>

namespace stategraph::serve {

/// Makes the endpoint of a workflow, whose threads are its runs: `start` takes {"input": …, "state": {key: value}},
/// `resume` {"data": …} with "step", "label" or "question" and "index" where several questions are open (or "all": true
/// for an answer to all of these), or {} for a run that a process left behind. `state` is the run's snapshot, and its
/// `history` the ids of its checkpoints. Of the endpoint's configuration, durability, timeout, max_concurrency and
/// observer hold for all runs, metadata for those that are started, and a context that is a workflow::Values is their
/// request context. For a typed workflow, pass `workflow.flow()`.
std::shared_ptr<Endpoint> endpoint(const workflow::Flow& flow, EndpointOptions options = {});

}  // namespace stategraph::serve
