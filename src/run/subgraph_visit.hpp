#pragma once
#include "src/run/run.hpp"

namespace stategraph::engine {

/// Connects a task whose node is a graph with the run inside it: gives it the input, and takes its output. Used on the
/// task's thread.
class SubgraphVisit {
public:
    SubgraphVisit(TaskEnv& env, Task& task) noexcept : env_(env), task_(task), node_(env.nodeOf(task)) {}

    /// Returns the input of the run inside. Errors: NodeError if a function that maps into the subgraph, or makes its
    /// key, fails; InvalidUpdateError if one log would be visited several times in the superstep.
    detail::RunInput input() const;
    /// Returns where the run inside begins. A later attempt continues where the one before it failed.
    ParentLink link(int attempt) const;
    /// Call it when the run inside has ended: its output becomes the task's writes. Errors: NodeError if the function
    /// that maps out of the subgraph fails.
    void takeOutput(Run& child) const;

private:
    bool isVisitedTwice() const;
    void checkVisits() const;

    TaskEnv& env_;
    Task& task_;
    const Node& node_;
};

}  // namespace stategraph::engine
