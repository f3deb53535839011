#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/stream_hub.hpp>

// Finds in events what protocols report: messages, calls and questions, of agents and of the user's own graphs.
namespace stategraph::serve {

/// Returns the outermost node that is a graph, without its task's id, or the node if there is none.
std::string stepOf(const StreamEvent& event);

/// A piece of a message that is being written.
struct ToldPiece {
    std::string id;
    int attempt = 0;  // of the task that writes it, from 1; 0: unknown
    std::string text;
    std::string reasoning;
    struct Call {
        std::string id, name, arguments;
    };
    std::vector<Call> calls;
    std::vector<boost::json::object> provider;  // parts of tools that the provider executes
};
/// Returns the parts of a whole message. Content that is a text, as that of an sg::Message, is one part.
std::vector<boost::json::object> partsIn(const boost::json::object& message);
/// Returns the parts of a whole message that are about tools that the provider executes, without metadata.
std::vector<boost::json::object> providerPartsIn(const boost::json::object& message);

/// The content of such a part.
struct ToldProviderPart {
    explicit ToldProviderPart(const boost::json::object& part);
    std::string kind;  // "call", "result" or "source"
    std::string call_id, tool;
    boost::json::object data;      // in the provider's form; empty if it is not an object
    boost::json::value arguments;  // set for a call
    boost::json::value output;     // of a result: its content, or the whole of it
    bool is_error = false;         // of a result
    std::string url, title;        // set for a source
};

/// The result of a call.
struct ToldResult {
    explicit ToldResult(const boost::json::object& result);
    std::string call_id;
    boost::json::value output;
    bool is_error = false;
    bool is_declined = false;  // in the form that agents write
};
/// Returns a text unchanged, and any other value as JSON.
std::string errorTextOf(const boost::json::value& output);

/// Returns none if the event has no piece.
std::optional<ToldPiece> pieceIn(const StreamEvent& event);

/// Finds messages in events. A node that is a graph writes the messages of that graph once more when it ends, and those
/// that the conversation had before; they are left out, and what the node adds to them is found.
class MessageGraphs {
public:
    /// Call it for each event with a piece of a message.
    void note(const StreamEvent& event);
    /// Returns a whole message that a task wrote without having reported pieces of it, or none if the event has no such
    /// message. A run reports a message of graphs inside each other once.
    std::optional<boost::json::object> wholeIn(const StreamEvent& event);
    /// Returns the messages that a task wrote, as JSON objects, in order, if the event has the mode `updates`.
    std::vector<boost::json::object> writtenIn(const StreamEvent& event);

private:
    using Ids = std::set<std::string>;

    std::set<std::string> graphs_;       // nodes that are graphs in which messages were written, see `nodeOf`
    std::map<std::string, Ids> wholes_;  // ids of the messages that `wholeIn` returned, by the node that wrote them
};

/// A question that waits for an answer.
struct ToldQuestion {
    std::string interrupt_id;
    std::string step;  // as stepOf; for a workflow's, the path of its step
    std::string node;  // the node that asks, or the path of a workflow's step
    std::string
        kind;  // "tool-approval", "tool-call", "tool-doubt", "effect-doubt", "step", the question's key, or "question"
    std::string text;           // empty if the question has none
    std::string call_id, tool;  // of a tool's call
    boost::json::value value;   // the whole question; of a workflow's step, what it asked
    boost::json::value arguments;

    /// Whether the protocols have a form of its own for it.
    bool isOfCall() const noexcept { return kind == "tool-approval" || kind == "tool-call"; }
};
/// Finds questions that were not yet reported in this response; both updates and the run's end contain them.
class Questions {
public:
    std::vector<ToldQuestion> newIn(const StreamEvent& event);

private:
    std::set<std::pair<TaskId, std::uint64_t>> told_;
};

/// The questions of a thread that wait for answers, by its state as JSON (Endpoint::state), each in an event as a run
/// reports it.
std::vector<StreamEvent> openIn(const boost::json::object& state);
std::vector<ToldQuestion> questionsOf(const boost::json::object& state);

/// Returns a member's text, or an empty text if there is none.
std::string textOf(const boost::json::object& object, std::string_view member);
/// Returns a member's list, or null if there is none.
const boost::json::array* listIn(const boost::json::object& object, std::string_view member);
/// Returns the messages that were written to a channel: one, a list, or {"$writes": […]} for several writes of a task.
std::vector<const boost::json::object*> messagesWritten(const boost::json::value& written);
/// Parses a text that may be nested as deeply as stored values are; Boost's own limit is 32. Returns null and sets
/// `broken` if it is no JSON.
boost::json::value parsedText(std::string_view text, boost::system::error_code& broken);
/// Returns an event's data as they are shown.
boost::json::value dataOf(const StreamEvent& event);

}  // namespace stategraph::serve
