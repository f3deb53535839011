#include <stategraph/agent/agent.hpp>

#include <algorithm>
#include <exception>
#include <map>
#include <utility>
#include <variant>

#include <stategraph/async.hpp>
#include <stategraph/command.hpp>
#include <stategraph/delete_thread.hpp>
#include <stategraph/detail/verdict.hpp>
#include <stategraph/error.hpp>
#include <stategraph/unfinished.hpp>
#include <stategraph/update.hpp>

#include "agent/calls.hpp"
#include "agent/commands.hpp"
#include "agent/plan.hpp"
#include "agent/rounds.hpp"

namespace stategraph::agent {

namespace {

using detail::OnFailure;
using detail::Plan;

/// The agent's own limits end turns (stop_when). This limit is for conditions that never become true.
constexpr int supersteps_max = 10'000;

RetryPolicy retryOf(const Options& options) {
    if (options.retry) return *options.retry;
    return {.max_attempts = 3,
            .retry_on = [](const model::ModelError& error) { return error.isRetryable() && !error.isExhausted(); }};
}

/// Adds a node for each tool with limits of its own, so that the node has these limits.
void addToolNodes(StateGraph<State>& graph, const std::shared_ptr<const Plan>& plan) {
    for (const Tool& tool : plan->options.tools) {
        if (!tool.hasOwnNode()) continue;
        const std::string name = detail::nodeFor(&tool);
        NodeOptions limits;
        limits.timeout = tool.timeout ? tool.timeout : plan->options.tool_timeout;
        limits.retry = tool.retry.value_or(RetryPolicy{});
        limits.max_concurrency = plan->options.tool_concurrency;
        if (tool.async_call) {
            const auto await = [plan](const model::ToolCall& wanted, Runtime& runtime) {
                return detail::awaitTool(plan, wanted, runtime, OnFailure::throw_);
            };
            graph.addNode(NodeId<model::ToolCall>{name.c_str()}, await, limits);
        } else {
            const auto call = [plan](const model::ToolCall& wanted, Runtime& runtime) {
                return detail::callTool(*plan, wanted, runtime, OnFailure::throw_);
            };
            graph.addNode(NodeId<model::ToolCall>{name.c_str()}, call, limits);
        }
        graph.addEdge(name, detail::model_node);
        if (tool.on_failure == OnToolFailure::end_run) continue;
        const auto failed = [](const model::ToolCall& wanted, const NodeFailure& failure, Runtime& runtime) {
            return Command<State>{.update = detail::failedNode(wanted, failure.error, runtime),
                                  .go_to = detail::model_node};
        };
        graph.onError(name, failed, {detail::model_node});
    }
}

/// Adds the node of calls that are not executed, for agents that may have such calls.
void addRefusals(StateGraph<State>& graph, const Plan& plan) {
    if (!plan.refusesCalls()) return;
    const auto refuse = [](const detail::RefusedCall& refused) {
        return detail::failedCall(refused.call, refused.fault);
    };
    graph.addNode(NodeId<detail::RefusedCall>{detail::refused_tool_node}, refuse);
    graph.addEdge(detail::refused_tool_node, detail::model_node);
}

/// The node that calls the model, unless tools have returned Commands, which it follows instead.
struct ModelNode {
    std::shared_ptr<const Plan> plan;
    Task<Command<State>> operator()(const State& state, Runtime& runtime) const {
        return detail::callModel(plan, state, runtime);
    }

    using Node = stategraph::detail::AsyncNode<Task<Command<State>>>;
    using Result = stategraph::detail::TaskResult;
    static Task<void> start(const void* node, const void* input, Runtime& runtime, Result& result) {
        if (follows(node, input, runtime, result)) return nothing();
        return Node::start<State, State, ModelNode>(node, input, runtime, result);
    }
    static void call(const void* node, const void* input, Runtime& runtime, Result& result) {
        if (!follows(node, input, runtime, result)) Node::call<State, State, ModelNode>(node, input, runtime, result);
    }

private:
    static bool follows(const void* node, const void* input, Runtime& runtime, Result& result) {
        const State& state = *static_cast<const State*>(input);
        if (state.commands.empty()) return false;
        detail::follow(*static_cast<const ModelNode*>(node)->plan, state, runtime, result);
        return true;
    }
    static Task<void> nothing() { co_return; }
};

stategraph::detail::NodeAction modelNode(const std::shared_ptr<const Plan>& plan) {
    auto action = stategraph::detail::makeNode<State, State>(ModelNode{plan});
    action.start = ModelNode::start;
    action.call = ModelNode::call;
    return action;
}

CompiledGraph<State> graphOf(const std::shared_ptr<const Plan>& plan) {
    const Options& options = plan->options;
    StateGraph<State> graph;
    stategraph::detail::Verdicts::hearAbandoned(graph);
    graph.addNode(detail::begin_node,
                  [plan](const State& state, Runtime& runtime) { return detail::beginTurn(*plan, state, runtime); });
    NodeOptions asks;
    asks.retry = retryOf(options);
    asks.timeout = options.model_timeout;
    std::vector<std::string> ends{detail::begin_node, detail::model_node, detail::tool_node, detail::awaited_tool_node,
                                  END};
    for (const Tool& tool : options.tools) {
        if (tool.hasOwnNode()) ends.push_back(detail::nodeFor(&tool));
    }
    if (plan->refusesCalls()) ends.emplace_back(detail::refused_tool_node);
    asks.ends = NodeNames(ends);
    stategraph::detail::Verdicts::addNode(graph, detail::model_node, modelNode(plan), asks);
    addToolNodes(graph, plan);
    addRefusals(graph, *plan);
    NodeOptions calls;
    calls.timeout = options.tool_timeout;
    calls.max_concurrency = options.tool_concurrency;
    const auto call = [plan](const model::ToolCall& wanted, Runtime& runtime) {
        return detail::callTool(*plan, wanted, runtime, OnFailure::tell);
    };
    graph.addNode(NodeId<model::ToolCall>{detail::tool_node}, call, calls);
    const auto await = [plan](const model::ToolCall& wanted, Runtime& runtime) {
        return detail::awaitTool(plan, wanted, runtime, OnFailure::tell);
    };
    graph.addNode(NodeId<model::ToolCall>{detail::awaited_tool_node}, await, calls);
    graph.addEdge(START, detail::begin_node).addEdge(detail::begin_node, detail::model_node);
    graph.addEdge(detail::tool_node, detail::model_node).addEdge(detail::awaited_tool_node, detail::model_node);
    CompileOptions compile = options.compile;
    if (!compile.recursion_limit) compile.recursion_limit = supersteps_max;
    return graph.compile(compile);
}

}  // namespace

Agent::Agent(Options options) : plan_(std::make_shared<const Plan>(std::move(options))), graph_(graphOf(plan_)) {}

Result<State> Agent::say(std::string text, const RunConfig& config) const {
    return graph_.invoke(said(std::move(text)), config);
}

Result<State> Agent::say(std::string text, const RunConfig& config,
                         const std::function<void(std::string_view piece)>& take) const {
    const auto hear = [&take](const StreamEvent& event) {
        if (const auto piece = textIn(event)) take(*piece);
    };
    return graph_.stream(said(std::move(text)), config, {.modes = StreamMode::messages}, hear);
}

void Agent::send(const ThreadId& thread, std::string text, WhileRunning how) const {
    send(thread, model::user(std::move(text)), how);
}

void Agent::send(const ThreadId& thread, model::Message message, WhileRunning how) const {
    if (how != WhileRunning::enqueue && how != WhileRunning::steer)
        throw InvalidArgumentError("a message is sent to be enqueued or to steer; give say() OnBusy::reject or replace",
                                   {.thread_id = thread.toString()});
    const bool is_stored = plan_->options.compile.checkpointer.saver() != nullptr;
    const auto at = is_stored ? graph_.getState({.thread_id = thread}) : StateSnapshot<State>();
    if (detail::holds(at.values, message.id)) return;
    const std::string id = plan_->inbox.send(thread, std::move(message), how == WhileRunning::steer, at.values.taken);
    if (at.config.checkpoint_id.empty() || plan_->inbox.hasThread(thread)) return;
    if (!id.empty()) plan_->inbox.withdraw(thread, id);
    throw InvalidArgumentError(
        "the thread was deleted while a message was sent to it, and the message is not kept; send it again to begin a "
        "new thread with it",
        {.thread_id = thread.toString()});
}

bool Agent::hasSent(const ThreadId& thread) const {
    if (!plan_->inbox.mayHave(thread)) return false;
    const State state = graph_.getState({.thread_id = thread}).values;
    const detail::Inbox::Waiting waiting = plan_->inbox.read(thread, state.taken);
    try {
        if (waiting.keeps_taken) plan_->inbox.forget(thread, state.taken);
    } catch (const std::exception&) {  // they are removed later
    }
    return std::ranges::any_of(waiting.messages,
                               [&](const auto& each) { return !detail::holds(state, each.message.id); });
}

void Agent::deleteThread(const ThreadId& thread) const {
    const auto& saver = plan_->options.compile.checkpointer.saver();
    if (!saver)
        throw MissingCheckpointerError(
            "an agent without a checkpointer has no threads to delete; set Options::compile.checkpointer");
    deleteWholeThread(*saver, thread.view());
}

Account Agent::account(const State& state) const { return accountOf(state, plan_->options.prices); }

namespace {

/// Returns whether the agent's own model has made the call, and not that of an agent inside.
bool isOwnCall(const State& state, const OpenCall& call) {
    return std::ranges::any_of(state.messages, [&](const model::Message& message) {
        return std::ranges::find(message.calls, call.id, &model::ToolCall::id) != message.calls.end();
    });
}

}  // namespace

std::vector<OpenCall> Agent::openCalls(const ThreadId& thread) const { return agent::openCalls(graph_, thread); }

WaitingPage Agent::waiting(const WaitingQuery& query) const {
    const auto& saver = plan_->options.compile.checkpointer.saver();
    if (!saver) {
        throw MissingCheckpointerError(
            "an agent without a checkpointer has no threads that wait; set "
            "Options::compile.checkpointer");
    }
    if (query.limit < 1) throw InvalidArgumentError("WaitingQuery::limit is 0, and must be at least 1");
    UnfinishedQuery unfinished{.reason = Status::interrupted,
                               .after_thread_id = query.after_thread_id,
                               .limit = query.limit,
                               .metadata = query.metadata};
    WaitingPage page;
    for (;;) {
        const std::vector<UnfinishedThread> found = saver->unfinishedThreads(unfinished);
        for (const UnfinishedThread& thread : found) {
            WaitingThread waiting{.thread_id = thread.thread_id, .calls = agent::openCalls(thread.interrupts)};
            if (waiting.calls.empty()) continue;  // the thread waits for something else
            page.threads.push_back(std::move(waiting));
            if (page.threads.size() == query.limit) {
                page.next = thread.thread_id;
                return page;
            }
        }
        if (found.size() < query.limit) return page;
        unfinished.after_thread_id = found.back().thread_id;
    }
}

Command<> Agent::decide(const ThreadId& thread, std::string_view call_id, Decision decision) const {
    const auto at = graph_.getState({.thread_id = thread});
    const std::vector<OpenCall> open = agent::openCalls(at.interrupts());
    const OpenCall& call = detail::findCall(open, thread, call_id);
    const bool changes = decision.approved && decision.arguments && !call.is_for_client && !call.is_in_doubt;
    const Tool* const tool = changes && isOwnCall(at.values, call) ? plan_->find(call.tool) : nullptr;
    if (tool != nullptr && tool->check) tool->check(*decision.arguments);
    return agent::decide(open, thread, call_id, std::move(decision));
}

Command<> Agent::give(const ThreadId& thread, std::string_view call_id, ClientResult result) const {
    return agent::give(graph_, thread, call_id, std::move(result));
}

Update<State> said(std::string text) { return {add(&State::messages, model::user(std::move(text)))}; }

Update<State> said(std::vector<model::Message> messages) { return {add(&State::messages, std::move(messages))}; }

std::string_view detail::withoutFence(std::string_view text) noexcept {
    constexpr std::string_view blanks = " \t\r\n";
    constexpr std::string_view fence = "```";
    const auto trim = [&] {
        text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
        text.remove_suffix(text.size() - std::min(text.find_last_not_of(blanks) + 1, text.size()));
    };
    trim();
    if (text.size() < 2 * fence.size() || !text.starts_with(fence) || !text.ends_with(fence)) return text;
    const std::size_t line = text.find('\n');
    if (line == std::string_view::npos) return text;
    text.remove_suffix(fence.size());
    text.remove_prefix(std::min(line + 1, text.size()));
    trim();
    return text;
}

}  // namespace stategraph::agent
