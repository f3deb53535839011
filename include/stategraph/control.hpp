#pragma once
#include <stop_token>

#include <stategraph/run_control.hpp>

// Includes std::stop_token for RunControl; stategraph.hpp does not include that header.
namespace stategraph {

namespace detail {
std::stop_token stopTokenOf(const RunControlParts& control, void*) noexcept;
void linkStop(RunControlParts& control, const std::stop_token& outer, int);
}  // namespace detail

class Runtime;
/// The token of the run that a node is in: stopped when the run's control is, or its deadline has passed, or this
/// attempt's time is up. For a run that cannot be stopped, the token is never stopped.
std::stop_token stopToken(Runtime& runtime);

}  // namespace stategraph
