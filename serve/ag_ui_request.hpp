#pragma once
#include <string>

#include <boost/json.hpp>

#include <stategraph/serve/endpoint.hpp>

// What clients of the protocol "ag-ui" ask for (RunAgentInput of @ag-ui/core).
namespace stategraph::serve {

/// The id of the interrupt that stands for a breakpoint, where no question waits.
inline constexpr const char* breakpoint_id = "breakpoint";

/// A request, of which only the new part is used.
struct AgUiRequest {
    std::string thread;
    std::string run;
    boost::json::array messages = {};
    boost::json::value state = {};
    /// Answers: {"interruptId", "status": "resolved" | "cancelled", "payload"}.
    boost::json::array resume = {};

    /// Whether the last message gives the result of a call of a client's tool.
    bool givesResults() const;
    /// Whether the request answers something that waits.
    bool answers() const { return !resume.empty() || givesResults(); }
    /// False: nothing in it is new, as when a page is loaded, and it asks for what is stored.
    bool beginsRun() const;
};
/// Errors: WrongTypeError, InvalidArgumentError.
AgUiRequest readAgUi(const Value& body);

/// What a response to the request begins with.
Opening openingOf(const AgUiRequest& request);

/// What a request asks of an endpoint.
struct AgUiTurn {
    Operation operation = Operation::start;
    Value body = {};
    /// Whether the thread has the message already, as after a lost response.
    bool repeats = false;
};
/// `stored` is the thread's state as JSON (Endpoint::state); empty: nothing is stored. Errors: InvalidArgumentError if
/// an answer fits no question that waits.
AgUiTurn turnOf(const AgUiRequest& request, const Endpoint& endpoint, const std::string& stored);

}  // namespace stategraph::serve
