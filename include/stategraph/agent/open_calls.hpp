#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/agent/state.hpp>
#include <stategraph/command.hpp>
#include <stategraph/compiled_graph.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/model/message.hpp>
#include <stategraph/value.hpp>

// The calls of tools for which a thread waits: of agents, and of graphs that have agents inside, as nodes, in subgraphs
// or called by nodes. All of their questions are open in the outermost thread, which takes the answers.
namespace stategraph::agent {

/// A call that waits for a decision or a result, or of which it is not known whether it was executed.
struct OpenCall {
    TaskId interrupt_id;
    std::string id;
    std::string provider_id;
    std::string tool;
    Value arguments;
    /// Whether it waits for a result (Agent::give) and not for a decision (Agent::decide).
    bool is_for_client = false;
    /// Whether it was begun, and its end is unknown (OnDoubt::ask). If it is approved, it is executed again; if it is
    /// declined, the model hears that it may have been executed; `give` says what it returned.
    bool is_in_doubt = false;
};

/// The calls among open questions (StateSnapshot::interrupts), in order. Other questions are left out.
std::vector<OpenCall> openCalls(const std::vector<Interrupt>& open);
/// Approves or declines one of the calls, named by its id or, if only one open call has it, by its provider's. `thread`
/// is for errors. The arguments of an approved call that a person has changed are checked when the run executes the
/// call; Agent::decide checks those of its own tools before. Errors: InvalidArgumentError that lists the open calls, if
/// it is none of them or takes a result.
Command<> decide(const std::vector<OpenCall>& open, const ThreadId& thread, std::string_view call_id,
                 Decision decision);
/// Gives the result of a call that a client executes. Errors: as `decide`.
Command<> give(const std::vector<OpenCall>& open, const ThreadId& thread, std::string_view call_id,
               ClientResult result);

/// The waiting calls of a thread of any graph. Errors and cost: as CompiledGraph::getState.
template <class S, class Input, class Output>
std::vector<OpenCall> openCalls(const CompiledGraph<S, Input, Output>& graph, const ThreadId& thread) {
    return openCalls(graph.getState({.thread_id = thread}).interrupts());
}
/// As `decide` above, for a thread of any graph: `graph.invoke(agent::decide(graph, "t", id, {.approved = true}),
/// {.thread_id = "t"})`.
template <class S, class Input, class Output>
Command<> decide(const CompiledGraph<S, Input, Output>& graph, const ThreadId& thread, std::string_view call_id,
                 Decision decision) {
    return decide(openCalls(graph, thread), thread, call_id, std::move(decision));
}
/// As `give` above, likewise.
template <class S, class Input, class Output>
Command<> give(const CompiledGraph<S, Input, Output>& graph, const ThreadId& thread, std::string_view call_id,
               ClientResult result) {
    return give(openCalls(graph, thread), thread, call_id, std::move(result));
}

namespace detail {
/// Returns the result of a call that waited for a decision or a result when the user wrote again.
model::Message unansweredCall(const OpenCall& call);
/// Throws InvalidArgumentError if there is no such call.
const OpenCall& findCall(const std::vector<OpenCall>& open, const ThreadId& thread, std::string_view call_id);
}  // namespace detail

}  // namespace stategraph::agent
