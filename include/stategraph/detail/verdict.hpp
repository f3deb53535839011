#pragma once
#include <string>
#include <utility>

#include <stategraph/detail/graph_builder.hpp>
#include <stategraph/graph.hpp>

// For libraries whose graphs keep in their state how they ended, such as workflows: a run in which nothing is due any
// more has then ended as its state says, for everyone who is told or who reads the log.
namespace stategraph::detail {

struct Verdicts {
    /// `judge` is called with the final state of a run of the graph, on the thread that drives the run; it throws
    /// nothing but std::bad_alloc. Graphs inside another one are not judged.
    template <class S, class Input, class Output>
    static void judgeWith(StateGraph<S, Input, Output>& graph, Verdict (*judge)(const void* state)) {
        graph.builder_.spec().judge = judge;
    }
    /// Its runs note the tasks that new input has left unfinished (detail/abandoned.hpp).
    template <class S, class Input, class Output>
    static void hearAbandoned(StateGraph<S, Input, Output>& graph) {
        graph.builder_.spec().hears_abandoned = true;
    }
    /// Adds a node whose Commands are of a state that is not known when the node is compiled.
    template <class S, class Input, class Output>
    static void addNode(StateGraph<S, Input, Output>& graph, std::string name, NodeAction&& action,
                        const NodeOptions& options) {
        graph.builder_.addNode(std::move(name), std::move(action), options);
    }
};

}  // namespace stategraph::detail
