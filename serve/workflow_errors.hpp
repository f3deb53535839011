#pragma once
#include <optional>
#include <string>

#include <stategraph/serve/endpoint.hpp>

// Finds the texts of errors in what is stored of a workflow's run, and replaces them by what clients are told.
namespace stategraph::serve {

/// The JSON text of Flow::snapshot without them.
std::string withoutStepErrors(std::string snapshot, const ErrorText& told);
/// The data of an event that has the run's state, or what was written to it; none: nothing is replaced.
std::optional<Value> stepDataFor(const StreamEvent& event, const ErrorText& told);

}  // namespace stategraph::serve
