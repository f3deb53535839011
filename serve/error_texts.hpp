#pragma once
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include <stategraph/serve/endpoint.hpp>

// Finds the texts of errors in states and events, and replaces them by what clients are told.
namespace stategraph::serve {

/// What failed, for ErrorText.
inline constexpr std::string_view failed_run = "The run failed";
inline constexpr std::string_view failed_task = "The task failed";
inline constexpr std::string_view failed_call = "The call failed";

/// Reads the JSON of a state that is to be shown without the texts of errors. Errors: std::runtime_error if it is no
/// object, because a state that cannot be searched is not shown.
boost::json::value parsedState(std::string_view state);

/// Replaces a text in the member, if there is one.
void hideError(boost::json::object& object, std::string_view member, std::string_view what, const ErrorText& told);

/// The event with what a client is told of errors; none: it is told as it is.
std::optional<HubEvent> toldEvent(const HubEvent& event, const Endpoint& endpoint, const ErrorText& told);
/// What a client is told of the error of a run.
std::string toldFailure(const std::exception_ptr& error, const ErrorText& told);

}  // namespace stategraph::serve
