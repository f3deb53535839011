#pragma once
#include <memory>

#include <stategraph/serve/endpoint.hpp>
#include <stategraph/workflow/run.hpp>

namespace stategraph::serve {

/// A workflow, whose threads are its runs: `start` takes {"input": …, "state": {key: value}}, `resume` {"data": …}
/// with "step", "label" or "question" and "index" where several questions are open, or {} for a run that was left.
/// `state` is the run's snapshot, and its `history` the ids of its checkpoints. Of the endpoint's configuration
/// durability and context count. A typed workflow gives `workflow.flow()`.
std::shared_ptr<Endpoint> endpoint(const workflow::Flow& flow, EndpointOptions options = {});

}  // namespace stategraph::serve
