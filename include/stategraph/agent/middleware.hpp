#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/agent/state.hpp>
#include <stategraph/agent/tool.hpp>
#include <stategraph/model/model.hpp>
#include <stategraph/task.hpp>

// Middleware: functions before, after and around the calls of an agent's model, and around those of its tools.
namespace stategraph::agent {

namespace detail {
class ModelChain;
}

/// A call of the model that is about to be made, or was made. Middleware may change it until it is made. Valid during a
/// hook, on the thread of the hook.
class ModelCall {
public:
    ModelCall(const State& before, Runtime& of_node, const model::Prices& of_agent) noexcept
        : state(before), runtime(of_node), prices(of_agent) {}
    ModelCall(const ModelCall&) = delete;
    ModelCall& operator=(const ModelCall&) = delete;

    /// The state before the call. `state.steps` is 0 in the first call of a turn.
    const State& state;
    /// The runtime of the node that calls the model, for the run's context.
    Runtime& runtime;
    /// Options::prices.
    const model::Prices& prices;
    /// The model that is called; null fails the run.
    std::shared_ptr<const model::Model> model = {};
    std::string instructions = {};
    /// Names of the tools that the model receives; one that the agent does not have fails the run. A call of another
    /// tool is not executed; its result says so.
    std::vector<std::string> tools = {};
    /// With `none`, no call is executed, as if no tool was offered. The last answer at a limit (AtLimit::answer) is
    /// always without tools.
    model::ToolChoice tool_choice = model::ToolChoice::automatic;
    /// If not empty, the model must call this tool, which must be among `tools`, whatever `tool_choice` says.
    std::string required_tool = {};
    model::Settings settings = {};
    /// The messages that are sent instead of the whole conversation, which the state keeps.
    std::optional<std::vector<model::Message>> messages = {};
    /// Whether readers of the stream receive the answer only when no hook can change it any more, and not in pieces.
    /// To be set before the call, by middleware that changes answers. A run that is stopped then keeps no part of one.
    bool is_held = false;

    /// The messages that are sent.
    const std::vector<model::Message>& sent() const noexcept { return messages ? *messages : state.messages; }
    /// Ends the turn with this State::stop_reason, which must not be empty. Before the call: the model is not called,
    /// and nothing is added to the conversation. After it: the answer is stored without its calls.
    void end(std::string reason);
    /// Whether a hook has ended the turn.
    bool isEnded() const noexcept { return !end_reason_.empty(); }
    /// Whether readers of the stream have received a piece of the answer: then another answer would follow it there.
    bool hasReported() const noexcept { return has_reported_; }
    /// What this middleware has kept in the thread; null if nothing.
    Value kept() const;
    /// Keeps a value in the thread, under the middleware's name, in the commit that stores the answer. A call that
    /// fails keeps nothing.
    void keep(Value value);
    /// Adds tokens that a hook has used to the turn's (State::usage). Those of `next` are counted without it.
    void addUsage(const model::UsageByModel& usage) { usage_ = usage_ + usage; }

private:
    friend class detail::ModelChain;

    std::string end_reason_ = {};
    bool has_reported_ = false;
    bool has_answer_ = false;
    model::UsageByModel usage_ = {};
    std::string current_ = {};  // the middleware whose hook is running
    std::map<std::string, Value> written_ = {};
};

/// The rest of a call of the model: the hooks of later middleware, and the call itself. It may be called several times,
/// one after another, or not at all.
using NextModel = std::function<Task<model::Reply>()>;

/// A call of a tool that is about to be executed: its arguments were checked, and approved if that was needed. Valid
/// during the hook.
struct ToolUse {
    const Tool& tool;
    /// The call, and its arguments as they were checked. The log has them already: to change them, change
    /// `reply.message.calls` in `after_model`.
    const model::ToolCall& call;
    const Value& arguments;
    const State& state;
    ToolContext& context;
};
/// The rest of a call of a tool. As NextModel.
using NextTool = std::function<Task<Value>()>;

/// Hooks around what an agent does. All are optional. They are called on the threads of runs, of which several may run
/// at the same time, so what must last belongs into ModelCall::keep. A hook that throws fails the call of the model,
/// which the agent's retry policy may repeat from its first hook; or the call of the tool, whose result is then the
/// text of what was thrown. A hook may ask a person (`sg::interrupt`) around a model: the node begins again with the
/// answer. Cost: an agent without middleware does nothing for it.
struct Middleware {
    /// The name in errors, and the key of what the middleware keeps: 1 to 64 letters, digits, '_' and '-', and no other
    /// middleware of the agent has it.
    std::string name = {};
    /// Before each call of the model, in the order of Options::middleware.
    std::function<void(ModelCall& call)> before_model = {};
    /// Around each call of the model, a coroutine: `co_await next()` gives the answer. The first in the list is the
    /// outermost. Bind it to a name first: `auto asked = next(); auto reply = co_await std::move(asked);`.
    std::function<Task<model::Reply>(ModelCall& call, const NextModel& next)> around_model = {};
    /// After each call of the model, before the answer is stored, in the reverse order. It may change the answer. Not
    /// called if the turn was ended instead of calling the model.
    std::function<void(ModelCall& call, model::Reply& reply)> after_model = {};
    /// Around each execution of a tool, a coroutine; for a tool that blocks, the thread of the call waits for it. What
    /// it returns is the call's result. If the tool is an effect, the result is stored with what the hook made of it,
    /// and neither is repeated.
    std::function<Task<Value>(const ToolUse& use, const NextTool& next)> around_tool = {};
};

/// Middleware of one function, called before each call of the model: `agent::beforeModel([](agent::ModelCall& call)
/// { call.tools = {"search"}; })`.
Middleware beforeModel(std::function<void(ModelCall& call)> f, std::string name = "before_model");

}  // namespace stategraph::agent
