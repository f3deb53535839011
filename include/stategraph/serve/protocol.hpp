#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/ndjson.hpp>
#include <stategraph/status.hpp>
#include <stategraph/stream_hub.hpp>

// How the events of a run are reported to clients. What a protocol does not report never leaves the process.
namespace stategraph::serve {

/// How a response ends.
struct Closing {
    Status ending = Status::done;
    /// The error of a run that failed, or was refused.
    std::string error = {};
    /// What the turn and the thread have used and cost, as JSON (Endpoint::account); empty: unknown.
    std::string account = {};
};

/// A call of a tool that a client shows in the message that a response continues.
struct ShownCall {
    std::string id;
    /// Whether the client asks its user about the call.
    bool is_asked = false;
    /// Whether the client has its result.
    bool is_answered = false;
};

/// What a response answers.
struct Opening {
    /// The calls of the client's message that the response continues: the client has sent decisions about some of them.
    std::vector<ShownCall> shown = {};
    /// The id of the message that the response is, as `GET …/messages` has it; empty: the client has it, or gives one.
    std::string message = {};
    /// The lines of what that message has already, for a client that sends the user's message again.
    std::vector<std::string> lines = {};
    /// The client's names of the thread and of its request. Only "ag-ui" repeats them, whose clients choose both.
    std::string thread = {};
    std::string run = {};
    /// The ids of the messages that the client of "ag-ui" has, as far as it sent them.
    std::set<std::string> messages = {};
    /// The thread's state as JSON (Endpoint::state), for a client that does not have it; empty: nothing is stored.
    std::string state = {};
    /// Whether the request began no run, and only reads.
    bool only_reads = false;
    /// Whether the endpoint stores a client's message under an id of its own (Endpoint::takesTexts).
    bool renames_messages = false;
};

/// Makes lines of JSON from the events of one response. Used by one thread at a time.
class Encoder {
public:
    virtual ~Encoder() = default;
    /// Called before the first event.
    virtual void open(const Opening&, std::vector<std::string>&) {}
    virtual void take(const HubEvent& event, std::vector<std::string>& lines) = 0;
    /// Called after the last event, unless the client has disconnected.
    virtual void close(const Closing&, std::vector<std::string>&) {}
};

/// A protocol: how an endpoint reports events.
struct Protocol {
    /// The name by which a client requests it, as `?protocol=NAME`.
    std::string name;
    std::function<std::unique_ptr<Encoder>()> encoder;
    /// The events that the encoder receives.
    StreamModes modes = {};
    /// Whether events of tasks that start have the tasks' inputs (SubscribeOptions).
    bool task_inputs = true;
    /// Header fields of the response.
    std::map<std::string, std::string> headers = {};
    /// For server-sent events: the data of a final event; empty: none.
    std::string last_data = {};
    /// Whether server-sent events are used even if the client accepts others.
    bool only_sse = false;
    /// Whether the encoder reports Closing::account, which is read for it at the end of a run.
    bool account = false;
    /// JSON Schema of each line that the encoder makes, for clients (serve/wire_types.hpp); empty: anything.
    std::string line_schema = {};
};

/// "events": the events as NdjsonWriter writes them, with positions from which a client can continue.
Protocol ownEvents(StreamModes modes = {StreamMode::updates, StreamMode::messages, StreamMode::custom,
                                        StreamMode::runs},
                   NdjsonOptions options = {});

/// The options of the protocol "steps".
struct StepEventsOptions {
    /// The tools whose calls are reported, with the names for the reports; other tools are not reported.
    std::map<std::string, std::string> tools = {};
    /// Whether waiting calls and other questions are reported.
    bool approvals = true;
};
/// "steps": a few kinds of lines, each with the name of its step, for pages that show several steps as they are
/// written:
///   {"event": "text-chunk", "stepName", "text"}                         a piece of a text
///   {"event": "tool-call", "stepName", "toolName", "text"}              a call of a chosen tool, with its arguments
/// as JSON text
///   {"event": "tool-call-approval", "stepName", "interruptId", "toolCallId", "toolName", "args"}  a call that waits
/// for a decision
///   {"event": "question", "stepName", "interruptId", "node", "kind", "text", "value"}  another question
///   {"event": "error", "message"}                                       the run failed
///   {"event": "finish", "status"}                                       how the run ended, as the last line
/// The step is the outermost node that is a graph, or the node itself. A call is answered by "toolCallId" (`decide`),
/// another question by "interruptId": `resume` with {"answers": [{"id": interruptId, "value": …}]}.
Protocol stepEvents(StepEventsOptions options = {});

/// The options of the protocol "ui".
struct UiMessagesOptions {
    /// Whether calls are typed parts (`tool-NAME`), for pages that declare their tools (`useChat<UIMessage<…>>`),
    /// and whose `onToolCall` leaves out dynamic tools. Off: they are `dynamic-tool` parts.
    bool typed_tools = false;
    /// Whether the models' thoughts are reported.
    bool reasoning = true;
    /// Whether the addresses are reported on which a provider's search has based an answer.
    bool sources = true;
    /// Whether clients know `reset-step` (since version 7 of the AI SDK), with which they forget the pieces of an
    /// answer that broke off before the model was called again. Off: the pieces stay as a step of their own, and the
    /// answer follows in the next step, which every version understands.
    bool resets_steps = false;
    /// Returns what is reported for the error of a run or of a tool, of which it gets what clients are told, such as
    /// "The run failed; error 7f3a…" (ServerOptions::show_errors); if it throws, "An error occurred." is. Null: what
    /// clients are told. Called from several threads.
    std::function<std::string(const std::string& error)> error_text = {};
    /// Whether the last part has the tokens and the costs of the turn and of the thread, as the metadata of the
    /// message: "usage" and "threadUsage" (`LanguageModelUsage` of the AI SDK) and, if the agent has prices, "cost",
    /// "threadCost" (decimal texts) and "unpricedModels". Cost: one more read of the thread's state.
    bool account = true;
};
/// "ui": the UI message stream of the AI SDK, version 1, as server-sent events for `useChat` and `readUIMessageStream`.
Protocol uiMessages(UiMessagesOptions options = {});

/// The options of the protocol "ag-ui".
struct AgUiOptions {
    /// Whether the state is reported, as a snapshot and then as changes, without the channel "messages"; and, at the
    /// end, the conversation as it is stored. Cost: the run encodes its whole state after each superstep.
    bool state = true;
    /// Whether the models' thoughts are reported.
    bool reasoning = true;
    /// Whether RUN_FINISHED has the tokens and the costs in its metadata, as UiMessagesOptions::account.
    bool account = true;
};
/// "ag-ui": the events of the Agent-User Interaction protocol, version 1.0, as server-sent events, for `HttpAgent` of
/// @ag-ui/client and what is built on it.
Protocol agUiEvents(AgUiOptions options = {});

}  // namespace stategraph::serve
