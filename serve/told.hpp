#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/stream_hub.hpp>

// What protocols read in events: messages, calls and questions, of agents and of graphs of the user's own.
namespace stategraph::serve {

/// The outermost node that is a graph, without its task's id; else the node.
std::string stepOf(const StreamEvent& event);

/// A piece of a message that is being written.
struct ToldPiece {
    std::string id;
    std::string text;
    std::string reasoning;
    struct Call {
        std::string id, name, arguments;
    };
    std::vector<Call> calls;
    std::vector<boost::json::object> provider;  // parts of tools that the provider executes
};
/// The parts of tools that the provider executes, of a whole message.
std::vector<boost::json::object> providerPartsIn(const boost::json::object& message);

/// Such a part, read.
struct ToldProviderPart {
    explicit ToldProviderPart(const boost::json::object& part);
    std::string kind;  // "call", "result" or "source"
    std::string call_id, tool;
    boost::json::object data;      // as the provider wrote it; empty if that is no object
    boost::json::value arguments;  // of a call
    boost::json::value output;     // of a result
    std::string url, title;        // of a source
};
/// None if the event has no piece.
std::optional<ToldPiece> pieceIn(const StreamEvent& event);

/// The messages that a task wrote, as JSON objects, in order; of an event of the mode `updates`.
std::vector<boost::json::object> messagesIn(const StreamEvent& event);

/// A call that waits for somebody.
struct ToldQuestion {
    std::string interrupt_id;
    std::string type;  // "tool-approval", "tool-call", or empty for another one's question
    std::string call_id, tool;
    boost::json::value value;  // all of it
    boost::json::value arguments;
};
/// Those that were not reported in this response yet: both updates and the run's end have them.
class Questions {
public:
    std::vector<ToldQuestion> newIn(const StreamEvent& event);

private:
    std::set<std::pair<TaskId, std::uint64_t>> told_;
};

/// A member's text; empty if there is none.
std::string textOf(const boost::json::object& object, std::string_view member);

}  // namespace stategraph::serve
