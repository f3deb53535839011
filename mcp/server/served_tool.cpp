#include <stategraph/error.hpp>
#include <stategraph/mcp/server.hpp>

#include <deque>
#include <utility>
#include <variant>

#include <stategraph/agent/state.hpp>
#include <stategraph/detail/mutex.hpp>
#include <stategraph/fields.hpp>
#include <stategraph/graph.hpp>
#include <stategraph/memory_saver.hpp>

#include "mcp/server/offer.hpp"
#include "mcp/server/question.hpp"
#include "src/graph/core.hpp"

// What a server makes of tools and agents: graphs.
namespace stategraph::mcp {

namespace detail {

bool ServedTool::isForClient(const std::exception&) const noexcept { return false; }

bool hasSaver(const stategraph::detail::Core& core) noexcept { return core.options().checkpointer.saver() != nullptr; }

namespace {

constexpr const char* tool_node = "tool";
constexpr std::size_t waiting_max = 1000;  // calls of a tool whose client may come back with answers

struct ToolState {
    Value arguments = {};
    Value result = {};
    static constexpr auto channels() {
        return stategraph::channels(channel("arguments", &ToolState::arguments), channel("result", &ToolState::result));
    }
};
using ToolGraph = CompiledGraph<ToolState>;

model::ToolCall callOf(const agent::Tool& tool, const Value& arguments) {
    model::ToolCall call;
    call.id = tool.name();
    call.name = tool.name();
    call.arguments = arguments.toJson();
    return call;
}

/// Asks for an approval if the call needs one. Returns false if it is declined.
bool isAllowed(const agent::Tool& tool, const model::ToolCall& call, const Value& arguments, Runtime& runtime) {
    if (!tool.approval(arguments)) return true;
    const agent::Question question = agent::ApprovalRequest{call.id, call.provider_id, call.name, arguments};
    return interrupt<agent::Decision>(runtime, "approval", Value(question)).approved;
}

constexpr const char* not_approved = "the call was not approved";

Update<ToolState> callTool(const agent::Tool& tool, const ToolState& state, Runtime& runtime) {
    const model::ToolCall call = callOf(tool, state.arguments);
    if (!isAllowed(tool, call, state.arguments, runtime)) throw InvalidArgumentError(not_approved);
    agent::ToolContext context(runtime, call);
    return {set<&ToolState::result>(tool.call(state.arguments, context))};
}

Task<Update<ToolState>> awaitTool(const agent::Tool& tool, const ToolState& state, Runtime& runtime) {
    const model::ToolCall call = callOf(tool, state.arguments);
    if (!isAllowed(tool, call, state.arguments, runtime)) throw InvalidArgumentError(not_approved);
    agent::ToolContext context(runtime, call);
    Task<Value> called = tool.async_call(state.arguments, context);
    Value result = co_await std::move(called);
    co_return Update<ToolState>{set<&ToolState::result>(std::move(result))};
}

ToolGraph graphOf(const std::shared_ptr<const agent::Tool>& tool, std::shared_ptr<BaseCheckpointSaver> saver) {
    StateGraph<ToolState> graph;
    NodeOptions limits;
    limits.timeout = tool->timeout;
    limits.retry = tool->retry.value_or(RetryPolicy{});
    if (tool->async_call) {
        graph.addNode(
            tool_node, [tool](const ToolState& state, Runtime& runtime) { return awaitTool(*tool, state, runtime); },
            limits);
    } else {
        graph.addNode(
            tool_node, [tool](const ToolState& state, Runtime& runtime) { return callTool(*tool, state, runtime); },
            limits);
    }
    graph.addEdge(START, tool_node).addEdge(tool_node, END);
    return graph.compile({.checkpointer = std::move(saver)});
}

ServedResult resultOf(const Value& value) {
    if (value.isNull()) return {.text = "null"};
    // The major types of CBOR.
    const unsigned type = static_cast<unsigned char>(value.bytes().front()) >> 5U;
    if (type == 3) return {.text = value.as<std::string>()};
    return type == 5 ? ServedResult{.structured = value} : ServedResult{.text = value.toJson()};
}

struct ReadArguments {
    std::shared_ptr<const agent::Tool> tool;
    Update<ToolState> operator()(const Value& given) const {
        Value arguments = tool->check ? tool->check(given) : given;
        return {set<&ToolState::arguments>(arguments.asStrict<Value>())};
    }
};
struct ShowResult {
    std::shared_ptr<const agent::Tool> tool;
    ServedResult operator()(const ToolState& state) const {
        if (!tool->to_model) return resultOf(state.result);
        const model::ToolOutput output = tool->to_model(state.result);
        ServedResult result = resultOf(output.output);
        if (output.output.isNull()) result.text = model::textOf(output.content);
        for (const model::Part& part : output.content) {
            if (const auto* const file = std::get_if<model::File>(&part)) result.files.push_back(*file);
        }
        return result;
    }
};

/// A tool as a graph of one node, whose threads are kept in memory as long as their calls, or until a client has come
/// back with answers.
class PlainTool final : public GraphTool<ToolState, ToolState, ToolState, ReadArguments, ShowResult> {
public:
    PlainTool(std::shared_ptr<const agent::Tool> tool, ServedOptions options, std::shared_ptr<MemorySaver> saver)
        : GraphTool(tool->name(), graphOf(tool, saver), std::move(options), ReadArguments{tool}, ShowResult{tool}),
          tool_(std::move(tool)),
          saver_(std::move(saver)) {}

    bool keepsThreads() const noexcept override { return false; }
    void callEnded(const ThreadId& thread, bool waits) const override {
        std::string name = thread.toString();
        {
            const stategraph::detail::LockGuard lock(mutex_);
            std::erase(waiting_, name);
            if (waits) {
                waiting_.push_back(name);
                if (waiting_.size() <= waiting_max) return;
                name = std::move(waiting_.front());
                waiting_.pop_front();
            }
        }
        saver_->deleteThread(name);
    }
    std::string inputSchema() const override { return tool_->description.parameters; }
    std::string outputSchema() const override { return "{}"; }
    bool isForClient(const std::exception& error) const noexcept override {
        return dynamic_cast<const InvalidArgumentError*>(&error) != nullptr ||
               dynamic_cast<const WrongTypeError*>(&error) != nullptr;
    }

private:
    const std::shared_ptr<const agent::Tool> tool_;
    const std::shared_ptr<MemorySaver> saver_;
    mutable stategraph::detail::Mutex mutex_;
    mutable std::deque<std::string> waiting_ SG_GUARDED_BY(mutex_);
};

struct Said {
    std::string message = {};
    static constexpr auto fields() {
        return stategraph::fields(field("message", &Said::message, describe("What the user says")));
    }
};

struct ReadMessage {
    Update<agent::State> operator()(const Value& given) const { return agent::said(given.asStrict<Said>().message); }
};
struct ShowAnswer {
    ServedResult operator()(const agent::State& state) const {
        ServedResult result = resultOf(state.output);
        if (const std::string text = state.text(); !text.empty() || state.output.isNull()) result.text = text;
        return result;
    }
};

class AgentTool final : public GraphTool<agent::State, agent::State, agent::State, ReadMessage, ShowAnswer> {
public:
    using GraphTool::GraphTool;
    std::string inputSchema() const override { return serve::detail::schemaOfUpdate(jsonSchema<Said>()); }
    std::string outputSchema() const override { return "{}"; }
};

}  // namespace

}  // namespace detail

Server::Server(ServerOptions options) : offer_(std::make_shared<detail::Offer>(std::move(options))) {}

void Server::add(std::shared_ptr<const detail::ServedTool> tool) { offer_->add(std::move(tool)); }

void Server::add(agent::Tool tool) {
    if (tool.isForClient() || tool.isForProvider())
        throw InvalidArgumentError("the tool '" + tool.name() +
                                   "' cannot be served: this program does not execute it, but a client or a provider");
    ServedOptions options{.description = tool.description.description};
    options.ask = detail::askAboutCall;
    const auto kept = std::make_shared<const agent::Tool>(std::move(tool));
    add(std::make_shared<detail::PlainTool>(kept, std::move(options), std::make_shared<MemorySaver>()));
}

void Server::add(std::string name, const agent::Agent& agent, ServedOptions options) {
    if (!options.ask) options.ask = detail::askAboutCall;
    add(std::make_shared<detail::AgentTool>(std::move(name), agent.graph(), std::move(options), detail::ReadMessage{},
                                            detail::ShowAnswer{}));
}

}  // namespace stategraph::mcp
