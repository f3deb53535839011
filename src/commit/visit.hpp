#pragma once
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "src/commit/restore.hpp"
#include "src/superstep/apply.hpp"

// What a task's visit to a subgraph begins with, and which log it has. One answer for a run, for what checks whether it can go on, and
// for what reads its state.
namespace stategraph::engine {

/// What a subgraph's visit begins with: `input`, and which of the subgraph's logs it goes on with (`key`; empty if there is one for all).
struct Visit {
    detail::Writes input;
    std::string key;
    std::exception_ptr failure;  // of the user's functions, or the key's: there is nothing else then
    bool is_doubled = false;     // another task of the superstep has the same key
};

/// Thrown in place of what a function of the user's threw.
struct VisitFailure {
    std::string what;
    std::exception_ptr original;
};

/// The input of a subgraph: from the state around it, or from the payload of the Send that visits it (null: no Send does).
/// Errors: VisitFailure, and those of `restorePayload`.
void makeInput(const detail::Schema& outer, const Node& node, const State& state, const PendingSend* send, detail::Writes& input);
/// Input and key. Errors: the same, and InvalidUpdateError for a key that cannot be one.
void makeVisit(const detail::Schema& outer, const Node& node, const State& state, const PendingSend* send, Visit& visit);

/// The key alone, empty if the subgraph's logs have none, for who looks at a visit without making it. None: the visit would fail.
std::optional<std::string> findKey(const detail::Schema& outer, const Node& node, const State& state, const PendingSend* send);

/// The log of a visit: below the log around it, by the node's stored name and the key or, if it does not live with the thread, the task.
std::string innerNamespace(std::string_view outer, const Node& node, TaskId task, std::string_view key);

}  // namespace stategraph::engine
