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

/// Whether to end the turn instead of calling the model again: none to continue, or why it ends. Asked after each round
/// of tools, on the thread of the run; several runs may ask at once.
using StopCondition = std::function<std::optional<std::string>(const State& state)>;
/// Ends after so many calls of the model, with "max-steps".
StopCondition stepCountIs(std::int64_t steps);
/// Ends when the last answer called this tool, with "tool-called".
StopCondition hasToolCall(std::string tool);
/// Ends when the turn has cost so many tokens, with "max-tokens".
StopCondition tokensAre(std::int64_t tokens);

/// One call of the model, before it is made. PrepareStep may change it.
struct StepPlan {
    std::shared_ptr<const model::Model> model;
    std::string instructions;
    /// Names of the tools that the model receives.
    std::vector<std::string> tools;
    model::ToolChoice tool_choice = model::ToolChoice::automatic;
    model::Settings settings;
    /// What is sent instead of the whole conversation; the state keeps all.
    std::optional<std::vector<model::Message>> messages = {};
};
using PrepareStep = std::function<void(const State& state, StepPlan& plan)>;

/// The answer is to be of a type.
struct Output {
    model::OutputFormat format;
    /// The answer's text as it is stored. Throws what is wrong with it, which the model receives.
    std::function<Value(std::string_view text)> read;
};
namespace detail {
struct Plan;
/// The text without the fence of three backticks that models put around JSON.
std::string_view withoutFence(std::string_view text) noexcept;
}  // namespace detail
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

struct Options {
    std::shared_ptr<const model::Model> model = {};
    std::string instructions = {};
    std::vector<Tool> tools = {};
    /// All are asked, any stops. None given: stepCountIs(5).
    std::vector<StopCondition> stop_when = {};
    AtLimit at_limit = AtLimit::stop;
    PrepareStep prepare_step = {};
    std::optional<Output> output = {};
    /// Which calls somebody must approve, in addition to what each tool says. Called with the tool's name and the
    /// arguments; what throws says yes.
    std::function<bool(std::string_view tool, const Value& arguments)> approval = {};
    model::Settings settings = {};
    /// How many calls of blocking tools may be under way at once in a turn, and how many of coroutines.
    int tool_concurrency = 10;
    /// For a call of the model, and for a call of a tool: then it is abandoned. Limits cost a thread for each call that
    /// is under way.
    std::optional<std::chrono::milliseconds> model_timeout = {};
    std::optional<std::chrono::milliseconds> tool_timeout = {};
    /// For calls of the model that failed: by default three attempts, if the model says that another may succeed.
    std::optional<RetryPolicy> retry = {};
    CompileOptions compile = {};
};

/// A call that waits for somebody.
struct OpenCall {
    TaskId interrupt_id;
    std::string id;
    std::string provider_id;
    std::string tool;
    Value arguments;
    /// Whether a result is wanted (Agent::give), and not a decision (Agent::decide).
    bool is_for_client = false;
};

/// A thread with calls that wait for somebody, in the order in which they were asked.
struct WaitingThread {
    std::string thread_id;
    std::vector<OpenCall> calls;
};
struct WaitingQuery {
    /// Only threads after this one in the order of listings.
    std::optional<std::string> after_thread_id = {};
    /// At most so many threads; at least 1.
    std::size_t limit = 100;
    /// As UnfinishedQuery::metadata: of the run that last stopped there, such as whose thread it is.
    Metadata metadata = {};
};
struct WaitingPage {
    std::vector<WaitingThread> threads;
    /// For WaitingQuery::after_thread_id, if there may be more.
    std::optional<std::string> next = {};
};

/// An agent, ready to run. It never changes; copies are cheap and share it; safe from any thread.
class Agent {
public:
    /// Errors: InvalidGraphError with every fault: no model, a tool without a name or twice, parameters that are not a
    /// JSON Schema of an object.
    explicit Agent(Options options);

    /// Drives runs in all the ways of any graph. Nodes: "begin", "model", and "tool", "awaited_tool" or,
    /// for a tool with a timeout or a retry of its own, "tool.NAME" for each call.
    const CompiledGraph<State>& graph() const noexcept { return graph_; }

    /// Says something and runs the turn: until there is an answer, a budget is used up, or somebody is asked. Errors:
    /// as CompiledGraph::invoke; what the model throws is a NodeError's original().
    Result<State> say(std::string text, const RunConfig& config = RunConfig::defaults()) const;

    /// The calls of a thread that wait for somebody, those of its sub-agents too, in the order in which they were
    /// asked.
    std::vector<OpenCall> openCalls(const ThreadId& thread) const;
    /// All threads of the agent's saver with calls that wait for somebody, a page at a time: those of other agents with
    /// the same saver too. Threads that a run drives at the moment are left out. Errors: MissingCheckpointerError;
    /// InvalidArgumentError for a limit of 0; what the saver throws. Cost: reads the heads of threads until the page is
    /// full.
    WaitingPage waiting(const WaitingQuery& query = {}) const;
    /// Approves or declines a call, named by its id or, if only one open call has it, by its provider's. Give it to
    /// any way of running: `graph().invoke(agent.decide("t", id, {.approved = true}), {.thread_id = "t"})`. One answer
    /// of several for a call counts; the others are refused when they run. Errors: InvalidArgumentError that lists the
    /// open calls, if it is none of them or takes a result; WrongTypeError for edited arguments that the tool does not
    /// take.
    Command<> decide(const ThreadId& thread, std::string_view call_id, Decision decision) const;
    /// Gives the result of a call that a client executes. Errors: as `decide`.
    Command<> give(const ThreadId& thread, std::string_view call_id, ClientResult result) const;

private:
    Command<> answer(const ThreadId& thread, std::string_view call_id, Value answer, bool is_for_client) const;

    std::shared_ptr<const detail::Plan> plan_;
    CompiledGraph<State> graph_;
};

/// What is said to an agent, as the input of its graph.
Update<State> said(std::string text);
Update<State> said(std::vector<model::Message> messages);

/// An agent as another one's tool: it is asked with a text, and its answer is the result. What it asks is open in the
/// outer run, and is answered there.
Tool agentTool(std::string name, ToolOptions options, const Agent& agent);

}  // namespace stategraph::agent
