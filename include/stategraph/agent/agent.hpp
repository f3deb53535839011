#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// A call of the model that is about to be made. PrepareStep may change it.
struct StepPlan {
    std::shared_ptr<const model::Model> model;
    std::string instructions;
    /// Names of the tools that the model receives.
    std::vector<std::string> tools;
    model::ToolChoice tool_choice = model::ToolChoice::automatic;
    model::Settings settings;
    /// The messages that are sent instead of the whole conversation, which the state keeps.
    std::optional<std::vector<model::Message>> messages = {};
};
/// A function that changes a call of the model before it is made.
using PrepareStep = std::function<void(const State& state, StepPlan& plan)>;

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
}  // namespace detail
/// The output format for answers of type T. `name` is the name of the schema for the provider.
template <class T>
Output output(std::string name = "answer") {
    return {{std::move(name), jsonSchema<T>()},
            [](std::string_view text) { return Value(fromJson<T>(detail::withoutFence(text))); }};
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
    /// Called before each call of the model; it may change the call. Null: no change.
    PrepareStep prepare_step = {};
    /// The type of the answer; none: text.
    std::optional<Output> output = {};
    /// Decides which calls need approval, in addition to what each tool says. Called with the tool's name and the
    /// arguments; if it throws, the call needs approval.
    std::function<bool(std::string_view tool, const Value& arguments)> approval = {};
    /// Settings of the model's calls, such as the temperature.
    model::Settings settings = {};
    /// How many calls of blocking tools may be under way at once in a turn, and how many of coroutines.
    int tool_concurrency = 10;
    /// How long a call of the model, or of a tool, may take before it is abandoned. A limit costs a thread for each
    /// call that is under way.
    std::optional<std::chrono::milliseconds> model_timeout = {};
    /// How long a call of a tool without its own timeout may take; none: unlimited.
    std::optional<std::chrono::milliseconds> tool_timeout = {};
    /// How failed calls of the model are retried. By default there are three attempts, if the model says that another
    /// one may succeed.
    std::optional<RetryPolicy> retry = {};
    /// How the agent's graph is compiled: saver, cache, observer and so on.
    CompileOptions compile = {};
};

/// A call that waits for a decision or a result.
struct OpenCall {
    TaskId interrupt_id;
    std::string id;
    std::string provider_id;
    std::string tool;
    Value arguments;
    /// Whether it waits for a result (Agent::give) and not for a decision (Agent::decide).
    bool is_for_client = false;
};

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

/// An agent that can be run. It never changes. Copies are cheap and share it. Safe from any thread.
class Agent {
public:
    /// Checks the options and compiles the graph. Errors: InvalidGraphError with every fault: no model, a tool without
    /// a name, two tools of one name, parameters that are not a JSON Schema of an object.
    explicit Agent(Options options);

    /// The agent's graph, which can be run in every way that a graph can be run. Its nodes are "begin", "model", and
    /// "tool", "awaited_tool" or, for a tool with a timeout or a retry of its own, "tool.NAME" for each call.
    const CompiledGraph<State>& graph() const noexcept { return graph_; }

    /// Adds a message of the user and runs the turn, until there is an answer, a budget is used up, or a call waits.
    /// Errors: as CompiledGraph::invoke; what the model throws is a NodeError's original().
    Result<State> say(std::string text, const RunConfig& config = RunConfig::defaults()) const;

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
