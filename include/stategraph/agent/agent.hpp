#pragma once
#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/agent/middleware.hpp>
#include <stategraph/agent/open_calls.hpp>
#include <stategraph/agent/state.hpp>
#include <stategraph/agent/tool.hpp>
#include <stategraph/graph.hpp>
#include <stategraph/json_schema.hpp>
#include <stategraph/model/model.hpp>
#include <stategraph/saver.hpp>

// Agents: a model and its tools, called in turn until there is an answer. An agent is a compiled graph, and a
// conversation is a thread of it.
namespace stategraph::agent {

/// Decides whether to end the turn instead of calling the model again: returns none to continue, or the reason for
/// ending. It is called after each round of tools, on the run's thread; several runs may call it at the same time.
using StopCondition = std::function<std::optional<std::string>(const State& state)>;
/// Ends after this many calls of the model, with "max-steps".
StopCondition stepCountIs(std::int64_t steps);
/// Ends when the last answer called this tool, with "tool-called".
StopCondition hasToolCall(std::string tool);
/// Ends when the turn has cost this many tokens, with "max-tokens".
StopCondition tokensAre(std::int64_t tokens);

/// Repairs a call that cannot be executed, because its tool is unknown or was not offered, or because its arguments are
/// refused; `fault` says why. The name and the arguments of the returned call are executed and stored in place of the
/// model's. If they cannot be executed either, or for none, the model receives the fault as the call's result; if the
/// function throws, the text of the exception. Called when the model has answered, before the answer is stored; several
/// runs may call it at the same time.
using RepairCall = std::function<std::optional<model::ToolCall>(const State& state, const model::ToolCall& call,
                                                                std::string_view fault)>;

/// The type that the answer must have.
struct Output {
    model::OutputFormat format;
    /// Converts the answer's text to the value that is stored. If the text is wrong, it throws an explanation, which
    /// the model receives.
    std::function<Value(std::string_view text)> read;
};
namespace detail {
struct Plan;
/// Returns the text without the fence of three backticks that models put around JSON.
std::string_view withoutFence(std::string_view text) noexcept;

/// The object around an answer that is not one, because providers accept schemas of objects only.
template <class T>
struct AnswerObject {
    T answer = {};
    static constexpr auto fields() { return stategraph::fields(field("answer", &AnswerObject::answer)); }
};
template <class T>
inline constexpr bool is_answer_object = std::same_as<T, Value> || stategraph::detail::HasFields<T> ||
                                         stategraph::detail::HasChannels<T> || stategraph::detail::MapLike<T>;

/// Reads {"answer": …}, or the bare answer, which models write too.
template <class T>
Value readAnswer(std::string_view text) {
    try {
        return Value(fromJson<AnswerObject<T>>(text).answer);
    } catch (const Error&) {
        // The reason for which it is no object with an answer is for the model, unless it is a bare answer.
        try {
            return Value(fromJson<T>(text));
        } catch (const Error&) {
        }
        throw;
    }
}
}  // namespace detail
/// The output format for answers of type T. `name` is the name of the schema for the provider. If a T is not an object,
/// such as a list, an enum or a number, the model is asked for {"answer": T}; State::output is the T alone.
template <class T>
Output output(std::string name = "answer") {
    if constexpr (detail::is_answer_object<T>) {
        return {{std::move(name), jsonSchema<T>()},
                [](std::string_view text) { return Value(fromJson<T>(detail::withoutFence(text))); }};
    } else {
        return {{std::move(name), jsonSchema<detail::AnswerObject<T>>()},
                [](std::string_view text) { return detail::readAnswer<T>(detail::withoutFence(text)); }};
    }
}

/// What happens when a stop condition ends a turn.
enum class AtLimit : std::uint8_t {
    stop,    // the turn ends as it is
    answer,  // the model is called once more, without tools, so that there is an answer
};

/// The options of an agent.
struct Options {
    /// The model that the agent calls. Required.
    std::shared_ptr<const model::Model> model = {};
    /// The system prompt.
    std::string instructions = {};
    /// The tools that the model may call.
    std::vector<Tool> tools = {};
    /// After each round all of these conditions are called, and any of them ends the turn. If the list is empty,
    /// stepCountIs(5) counts.
    std::vector<StopCondition> stop_when = {};
    /// What happens when a stop condition ends the turn.
    AtLimit at_limit = AtLimit::stop;
    /// What is called before, after and around the calls of the model, and around those of tools, the first outermost.
    std::vector<Middleware> middleware = {};
    /// Whether the model may, must or must not call a tool, in each of its calls; with `required` a turn ends by
    /// `stop_when` alone. To change it from call to call, use `middleware`.
    model::ToolChoice tool_choice = model::ToolChoice::automatic;
    /// Repairs calls that cannot be executed. Null: the model receives their faults.
    RepairCall repair_call = {};
    /// The type of the answer; none: text.
    std::optional<Output> output = {};
    /// Decides which calls need approval, in addition to what each tool says. Called with the tool's name and the
    /// arguments; if it throws, the call needs approval.
    std::function<bool(std::string_view tool, const Value& arguments)> approval = {};
    /// Settings of the model's calls, such as the temperature.
    model::Settings settings = {};
    /// What models cost, for accountOf, budgets, traces and pages. Empty: nothing is said about money.
    model::Prices prices = {};
    /// The agent's name in traces.
    std::string name = {};
    /// How many calls of blocking tools may be under way at once in a turn, and how many of coroutines.
    int tool_concurrency = 10;
    /// How long a call of the model, or of a tool, may take before it is abandoned. A limit costs a thread for each
    /// call that is under way.
    std::optional<std::chrono::milliseconds> model_timeout = {};
    /// How long a call of a tool without its own timeout may take; none: unlimited.
    std::optional<std::chrono::milliseconds> tool_timeout = {};
    /// How failed calls of the model are retried. By default there are three attempts, if the model says that another
    /// one may succeed and does not try again itself (ModelError::isExhausted).
    std::optional<RetryPolicy> retry = {};
    /// How the agent's graph is compiled: saver, cache, observer and so on.
    CompileOptions compile = {};
};

/// What becomes of a message for a thread on which a run is under way.
enum class WhileRunning : std::uint8_t {
    reject,     // it is refused
    enqueue,    // it begins the next turn, when this one has its answer
    steer,      // the run takes it before it calls the model the next time, with those that were sent before it
    interrupt,  // the run is stopped, and the message begins a turn
};

/// What a turn of a thread and the whole thread have used and cost, with sub-agents and middleware.
struct Account {
    model::Usage turn = {};
    model::Usage thread = {};
    /// By Options::prices; none without prices.
    std::optional<model::Cost> turn_cost = {};
    std::optional<model::Cost> thread_cost = {};
};
/// Returns what a state says was used. What an answer used that never came, because its call failed or was stopped, is
/// known to the provider alone.
Account accountOf(const State& state, const model::Prices& prices = {});

/// A thread with waiting calls, in the order in which they were asked.
struct WaitingThread {
    std::string thread_id;
    std::vector<OpenCall> calls;
};
/// Which waiting threads to list.
struct WaitingQuery {
    /// Lists only threads after this one, in the order of listings.
    std::optional<std::string> after_thread_id = {};
    /// The page has at most this many threads; at least 1.
    std::size_t limit = 100;
    /// Lists only threads with this metadata, as in UnfinishedQuery::metadata: that of the run which last stopped
    /// there, such as the owner of the thread.
    Metadata metadata = {};
};
/// A page of waiting threads.
struct WaitingPage {
    std::vector<WaitingThread> threads;
    /// The value for WaitingQuery::after_thread_id, if there may be more threads.
    std::optional<std::string> next = {};
};

struct Record;

/// An agent that can be run. It never changes. Copies are cheap and share it. Safe from any thread.
class Agent {
public:
    /// Checks the options and compiles the graph. Errors: InvalidGraphError with every fault: no model, a tool without
    /// a name, two tools of one name, parameters that are not a JSON Schema of an object.
    explicit Agent(Options options);

    /// The agent's graph, which can be run in every way that a graph can be run. Its nodes are "begin", "model", and
    /// "tool", "awaited_tool" or, for a tool with a timeout or a retry of its own, "tool.NAME" for each call. With
    /// `middleware`, `repair_call` or the choice `none` there is "refused_tool", for calls that are not executed.
    const CompiledGraph<State>& graph() const noexcept { return graph_; }

    /// Adds a message of the user and runs the turn, until there is an answer, a budget is used up, or a call waits.
    /// Errors: as CompiledGraph::invoke; what the model throws is a NodeError's original().
    Result<State> say(std::string text, const RunConfig& config = RunConfig::defaults()) const;
    /// Does the same, and gives `take` the text of the answers while the model writes it, on the thread where each
    /// piece comes. What sub-agents say is not given. If a call of the model breaks off and is repeated, `take` gets
    /// both attempts; a program that must tell them apart reads StreamEvent::attempt (`graph().stream`). What `take`
    /// throws fails the run.
    Result<State> say(std::string text, const RunConfig& config,
                      const std::function<void(std::string_view piece)>& take) const;

    /// Never called: it explains how an agent runs.
    template <class Input>
    void invoke(const Input&, const RunConfig& = RunConfig::defaults()) const {
        static_assert(stategraph::detail::never<Input>,
                      "stategraph: an agent is spoken to, agent.say(text, {.thread_id = \"A\"}), or its graph runs: "
                      "agent.graph().invoke(input, config)");
    }
    /// Sends a message to a thread, on which a run may be under way, and returns when it is stored, durably. `how` is
    /// `enqueue` or `steer`. A run of this agent object, or a copy, takes it as that says; a run of another process, or
    /// a later one, when it begins a turn. If no run takes it, such as because the last one has failed or waits for an
    /// approval, the next message does, or `graph().invoke(said(std::vector<model::Message>()), …)`. It is taken once,
    /// also after a crash; a copy of the thread takes none of its messages. A run from an earlier checkpoint may take
    /// it again until a later step or run has removed it from those that wait. A message whose id the conversation has
    /// is the same message, and is not sent. The run's stream reports it in the mode `custom`, as {"event":
    /// "message-taken", "id", "text", "as"}. For the other ways give `say` OnBusy::reject or OnBusy::replace.
    ///
    /// Safe from any thread. Errors: MissingCheckpointerError, also of an agent inside a graph, which takes no messages
    /// itself; InvalidArgumentError for another `how`, for a name of a thread of more than 113 bytes, if 100 messages
    /// wait, and if the thread is deleted meanwhile; those of the saver. Cost: three reads and a `sync` put.
    void send(const ThreadId& thread, std::string text, WhileRunning how) const;
    void send(const ThreadId& thread, model::Message message, WhileRunning how) const;
    /// Whether messages that were sent may wait. False is certain if all were sent by this agent object or its copies.
    /// Cost: a lock, and after a message was sent two reads, and a `sync` put if messages that were taken are still
    /// kept.
    bool hasSent(const ThreadId& thread) const;
    /// Deletes a thread with the messages that wait for it, as `deleteWholeThread` of stategraph/delete_thread.hpp does
    /// for any saver. Errors: MissingCheckpointerError; those of the saver.
    void deleteThread(const ThreadId& thread) const;
    /// Returns what the turn and the thread of this state have used and cost, by the agent's prices.
    Account account(const State& state) const;

    /// The waiting calls of a thread, including those of its sub-agents, in the order in which they were asked.
    std::vector<OpenCall> openCalls(const ThreadId& thread) const;
    /// Returns all threads of the agent's saver that have waiting calls, a page at a time, including threads of other
    /// agents with the same saver. Threads with a run under way are omitted. Errors: MissingCheckpointerError;
    /// InvalidArgumentError for a limit of 0; what the saver throws. Cost: reads the heads of threads until the page is
    /// full.
    WaitingPage waiting(const WaitingQuery& query = {}) const;
    /// Approves or declines a call, named by its id or, if only one open call has it, by its provider's. Give it to any
    /// way of running: `graph().invoke(agent.decide("t", id, {.approved = true}), {.thread_id = "t"})`. If a
    /// call gets several answers, one is accepted; the others are refused when they run. Errors: InvalidArgumentError
    /// that lists the open calls, if it is none of them or takes a result; WrongTypeError for edited arguments that the
    /// tool does not take.
    Command<> decide(const ThreadId& thread, std::string_view call_id, Decision decision) const;
    /// Gives the result of a call that a client executes. Errors: as `decide`.
    Command<> give(const ThreadId& thread, std::string_view call_id, ClientResult result) const;

private:
    friend Record recordOf(const Agent& agent, const Config& config);
    Command<> answer(const ThreadId& thread, std::string_view call_id, Value answer, bool is_for_client) const;

    std::shared_ptr<const detail::Plan> plan_;
    CompiledGraph<State> graph_;
};

/// The input of an agent's graph: what the user says.
Update<State> said(std::string text);
Update<State> said(std::vector<model::Message> messages);

/// An agent as the tool of another agent: it receives a text, and its answer is the result. Its questions are open in
/// the outer run and are answered there.
Tool agentTool(std::string name, ToolOptions options, const Agent& agent);

}  // namespace stategraph::agent
