#include "agent/rounds.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include <stategraph/command.hpp>
#include <stategraph/control.hpp>
#include <stategraph/detail/parting.hpp>
#include <stategraph/detail/task_digits.hpp>
#include <stategraph/error.hpp>
#include <stategraph/update.hpp>

#include "agent/calls.hpp"
#include "agent/model_chain.hpp"
#include "agent/traces.hpp"

namespace stategraph::agent::detail {

namespace {

using model::Delta;
using model::FinishReason;
using model::Message;
using model::Role;

/// Returns why the turn is to end instead of calling the model again. All conditions are called.
std::optional<std::string> stopReason(const Plan& plan, const State& state) {
    std::optional<std::string> reason;
    for (const StopCondition& condition : plan.options.stop_when) {
        auto said = condition(state);
        if (said && !reason) reason = std::move(said);
    }
    return reason;
}

/// Returns the piece in the form that listeners of the stream receive.
Piece pieceOf(const Delta& delta, const std::string& id, std::string call_id) {
    Piece piece;
    piece.id = id;
    switch (delta.kind) {
        case Delta::Kind::text:
            piece.content = std::string(delta.text);
            break;
        case Delta::Kind::reasoning:
            piece.reasoning = std::string(delta.text);
            break;
        case Delta::Kind::call:
        case Delta::Kind::arguments:
            piece.calls.push_back(
                {std::move(call_id), std::string(delta.id), std::string(delta.name), std::string(delta.text)});
            break;
        case Delta::Kind::provider:
            piece.provider.push_back(*delta.part);
            break;
    }
    return piece;
}

/// Returns whether the answer may have been cut off. If so, its calls are not executed.
bool isCut(const Message& message) noexcept {
    return message.finish_reason == FinishReason::length || message.finish_reason == FinishReason::content_filter;
}

bool isPaused(const Message& message) noexcept { return message.finish_reason == FinishReason::paused; }

/// Returns the answer that a stop has cut off and that nothing follows: it is asked for anew. Null if there is none.
const Message* abortedIn(std::span<const Message> messages) noexcept {
    if (messages.empty() || messages.back().finish_reason != FinishReason::aborted) return nullptr;
    return &messages.back();
}

std::span<const Message> withoutAborted(std::span<const Message> messages) noexcept {
    return messages.first(messages.size() - (abortedIn(messages) != nullptr ? 1U : 0U));
}

/// Returns the removal of the aborted answer.
std::optional<Message> removalIn(const State& state) {
    const Message* const aborted = abortedIn(state.messages);
    if (aborted == nullptr) return {};
    Message removal;
    removal.role = Role::remove;
    removal.id = aborted->id;
    return removal;
}

/// What has come of an answer. If the run is stopped, that is stored as the answer, marked as aborted, and the model is
/// due again: a RESUME asks it anew, and a message of the user follows what had come.
class PartialAnswer final : public stategraph::detail::Parting {
public:
    PartialAnswer(const std::string& id, std::optional<Message> removal) : removal_(std::move(removal)) {
        message_.role = Role::assistant;
        message_.id = id;
        message_.finish_reason = FinishReason::aborted;
    }

    void add(const Delta& delta) {
        if (delta.kind == Delta::Kind::text) addTo<model::Text>(delta.text);
        if (delta.kind == Delta::Kind::reasoning) addTo<model::Reasoning>(delta.text);
    }
    std::optional<stategraph::detail::TaskResult> take() override {
        if (message_.text().empty()) return {};
        Command<State> command{.update = {}, .go_to = model_node};
        if (removal_) command.update.with(stategraph::add(&State::messages, std::move(*removal_)));
        command.update.with(stategraph::add(&State::messages, std::move(message_)));
        stategraph::detail::TaskResult result;
        stategraph::detail::keepResult<State>(std::move(command), result);
        return result;
    }

private:
    template <class P>
    void addTo(std::string_view text) {
        if (message_.content.empty() || !std::holds_alternative<P>(message_.content.back()))
            message_.content.emplace_back(P());
        std::get<P>(message_.content.back()).text += text;
    }

    Message message_;
    std::optional<Message> removal_;
};

/// Returns whether the next call would follow results of tools, or an answer that the provider's own tools interrupted.
bool comesAfterTools(const State& state) noexcept {
    const std::span<const Message> messages = withoutAborted(state.messages);
    if (messages.empty()) return false;
    const Message& last = messages.back();
    return last.role == Role::tool || (last.role == Role::assistant && isPaused(last));
}

/// Returns whether the next call is to mend an answer of the wrong shape.
bool mendsAnswer(const State& state) noexcept {
    const std::span<const Message> messages = withoutAborted(state.messages);
    return state.repairs > 0 && !messages.empty() && messages.back().role == Role::user;
}

/// One call of the model, from its preparation to what it writes.
class Round {
    static constexpr std::string_view id_prefix = "answer-";
    static constexpr std::size_t id_digits = stategraph::detail::task_digits;

public:
    Round(const Plan& plan, const State& state, Runtime& runtime)
        : plan_(plan), state_(state), id_(answerId(runtime.taskId())), runtime_(runtime) {
        // The first call of a turn is not checked, nor a call that is to mend an answer, unless that was the last one
        // at a limit. A turn may begin with results of calls that the turn before it left open.
        const bool is_last_again = plan.options.at_limit == AtLimit::answer && mendsAnswer(state);
        if (state.steps > 0 && (comesAfterTools(state) || is_last_again)) stopped_ = stopReason(plan, state);
        if (isOver() || plan.options.middleware.empty()) return;
        chain_ = std::make_unique<ModelChain>(plan, state, runtime, toolChoice());
    }
    Round(const Round&) = delete;
    Round& operator=(const Round&) = delete;

    /// A condition ends the turn, so the model is not called.
    bool isOver() const noexcept { return stopped_ && plan_.options.at_limit == AtLimit::stop; }
    Command<State> stop() { return {.update = {set(&State::stop_reason, *stopped_)}}; }

    /// Calls the model, and the hooks around the call. `asking` must live until the task has ended.
    Task<model::Reply> ask(const model::Asking& asking) {
        const Traced traced{runtime_, plan_.options.prices};
        if (!chain_) return askModel(plan_.options.model, request(), asking, traced);
        next_ = [this, &asking, traced] {
            offered_ = chain_->offeredTools();
            return askModel(chain_->call().model, request(), asking, traced);
        };
        return chain_->run(next_);
    }
    model::Asking asking() {
        const auto partial = std::make_shared<PartialAnswer>(id_, removalIn(state_));
        stategraph::detail::leaveAtStop(runtime_, partial);
        const auto tell = [this, partial](const Delta& delta) {
            const auto held = stategraph::detail::heldAttempt(runtime_);
            if (chain_ && chain_->call().is_held) return;
            partial->add(delta);
            if (chain_) chain_->setReported();
            if (runtime_.wantsMessages()) runtime_.emitMessage(Value(pieceOf(delta, id_, callId(delta.call))));
        };
        return {tell, stopToken(runtime_), &runtime_};
    }

    /// To be called once: the answer takes this round's id.
    Command<State> take(model::Reply&& reply) {
        const bool is_ended = chain_ && !chain_->endReason().empty();
        if (is_ended && !chain_->hasAnswer()) return endedBefore();
        Message& message = reply.message;
        message.role = Role::assistant;
        if (isCut(message) || stopped_ || is_ended) message.calls.clear();
        for (std::size_t i = 0; i < message.calls.size(); ++i) message.calls[i].id = callId(i);
        const Faults faults = checkCalls(message.calls);
        Command<State> command{.update = {set(&State::steps, state_.steps + 1)}};
        if (chain_) {
            chain_->addTo(command.update);
        } else if (message.usage) {
            command.update.with(add(&State::usage, model::usageOf(reply, *plan_.options.model)));
        }
        if (auto removal = removalIn(state_)) command.update.with(add(&State::messages, std::move(*removal)));
        std::optional<Message> complaint;
        if (is_ended) {
            command.update.with(set(&State::stop_reason, chain_->endReason()));
        } else if (message.calls.empty() && isPaused(message) && !stopped_) {
            command.go_to = model_node;
        } else if (message.calls.empty()) {
            complaint = end(message, command.update);
        } else {
            command.go_to = sends(message, faults);
        }
        message.id = std::move(id_);
        command.update.with(add(&State::messages, std::move(message)));
        if (complaint) {
            command.update.with(add(&State::messages, std::move(*complaint)));
            command.go_to = model_node;
        }
        return command;
    }

private:
    /// The request refers to data of the plan, the state and this round.
    model::Request request() {
        const std::vector<Message>& sent = chain_ ? chain_->call().sent() : state_.messages;
        mended_ = model::mendHistory(sent);
        model::Request request{.messages = withoutAborted(mended_ ? *mended_ : sent), .tool_choice = effectiveChoice()};
        if (plan_.options.output) request.output = plan_.options.output->format;
        request.instructions = chain_ ? chain_->call().instructions : plan_.options.instructions;
        request.tools = chain_ ? offered_ : plan_.descriptions;
        request.settings = chain_ ? chain_->call().settings : plan_.options.settings;
        if (chain_ && !stopped_) request.required_tool = chain_->call().required_tool;
        return request;
    }
    /// What a hook that ended the turn before the call leaves.
    Command<State> endedBefore() const {
        Command<State> command{.update = {set(&State::stop_reason, chain_->endReason())}};
        chain_->addTo(command.update);
        return command;
    }
    model::ToolChoice toolChoice() const noexcept {
        return stopped_ ? model::ToolChoice::none : plan_.options.tool_choice;
    }
    /// The choice after the hooks, which have no say in the last answer at a limit.
    model::ToolChoice effectiveChoice() const noexcept {
        return chain_ && !stopped_ ? chain_->call().tool_choice : toolChoice();
    }
    /// Returns the names of the tools that the model may call.
    const std::vector<std::string>& offered() const noexcept {
        static const std::vector<std::string> none;
        const bool is_required = chain_ && !chain_->call().required_tool.empty();
        if (effectiveChoice() == model::ToolChoice::none && !is_required) return none;
        return chain_ ? chain_->call().tools : plan_.names;
    }
    static std::string answerId(TaskId task) {
        std::array<char, id_prefix.size() + id_digits> id;
        id_prefix.copy(id.data(), id_prefix.size());
        stategraph::detail::writeDigits(task, id.data() + id_prefix.size());
        return {id.data(), id.size()};
    }
    std::string callId(std::size_t place) const {
        constexpr std::string_view prefix = "call-";
        std::array<char, prefix.size() + id_digits + 1 + std::numeric_limits<std::size_t>::digits10 + 1> id;
        prefix.copy(id.data(), prefix.size());
        char* end = std::copy_n(id_.data() + id_prefix.size(), id_digits, id.data() + prefix.size());
        *end++ = '-';
        end = std::to_chars(end, id.data() + id.size(), place).ptr;
        return {id.data(), end};
    }

    /// Why calls are not executed, by their places; empty if the tools find out.
    using Faults = std::map<std::size_t, std::string>;

    /// Finds the calls that are not to be executed, and repairs them if the agent can.
    Faults checkCalls(std::vector<model::ToolCall>& calls) const {
        Faults faults;
        if (!plan_.refusesCalls()) return faults;
        for (std::size_t i = 0; i < calls.size(); ++i) {
            std::optional<std::string> fault = faultOf(plan_, calls[i], offered());
            if (fault && plan_.options.repair_call) fault = repair(calls[i], std::move(*fault));
            if (fault) faults.emplace(i, std::move(*fault));
        }
        return faults;
    }
    /// Returns the fault that is left, or none.
    std::optional<std::string> repair(model::ToolCall& call, std::string fault) const {
        try {
            const auto repaired = plan_.options.repair_call(state_, call, fault);
            if (!repaired) return fault;
            call.name = repaired->name;
            call.arguments = repaired->arguments;
        } catch (...) {
            return "the call could not be repaired: " + failureUnderWay();
        }
        return faultOf(plan_, call, offered());
    }
    Targets sends(const Message& message, const Faults& faults) const {
        Targets to;
        for (std::size_t i = 0; i < message.calls.size(); ++i) {
            const model::ToolCall& call = message.calls[i];
            if (const auto fault = faults.find(i); fault != faults.end()) {
                to.add(Send(refused_tool_node, RefusedCall{call, fault->second}));
            } else {
                to.add(Send(nodeFor(plan_.find(call.name)), call));
            }
        }
        return to;
    }

    /// Handles the model's answer. An answer of the wrong shape is sent back once with a message that says what is
    /// wrong; that message is returned.
    std::optional<Message> end(const Message& message, Update<State>& update) const {
        std::string reason = stopped_ ? *stopped_ : model::toString(message.finish_reason.value_or(FinishReason::stop));
        if (plan_.options.output && !isCut(message)) {
            try {
                update.with(set(&State::output, plan_.options.output->read(message.text())));
            } catch (const std::exception& why) {
                if (state_.repairs == 0) {
                    update.with(set(&State::repairs, 1));
                    return complaintOf(why);
                }
                reason = "invalid-output";
            }
        }
        update.with(set(&State::stop_reason, std::move(reason)));
        return {};
    }
    Message complaintOf(const std::exception& why) const {
        const auto* const ours = dynamic_cast<const Error*>(&why);
        Message complaint =
            model::user("The answer is not of the shape that was asked for: " + (ours ? ours->message() : why.what()) +
                        "\nAnswer again, with JSON of that shape only.");
        complaint.id = "repair-" + id_;
        return complaint;
    }

    const Plan& plan_;
    const State& state_;
    std::string id_;  // the id of the answer: a prefix and the task's id
    Runtime& runtime_;
    std::optional<std::string> stopped_;
    std::unique_ptr<ModelChain> chain_;  // null if the call is as the agent's options say
    NextModel next_;                     // the call itself, for the chain
    std::vector<model::ToolDescription> offered_;
    std::optional<std::vector<Message>> mended_;  // none if nothing needs mending
};

}  // namespace

std::string nodeFor(const Tool* tool) {
    if (tool != nullptr && tool->hasOwnNode()) return "tool." + tool->name();
    return tool != nullptr && tool->async_call ? awaited_tool_node : tool_node;
}

Task<Command<State>> callModel(std::shared_ptr<const Plan> plan, const State& state, Runtime& runtime) {
    if (Inbox::Waiting sent = steeringMessages(*plan, state, runtime); !sent.messages.empty()) {
        Command<State> command{.update = {}, .go_to = model_node};
        takeMessages(std::move(sent), state, command.update, runtime);
        co_return command;
    }
    Round round(*plan, state, runtime);
    Command<State> command;
    if (round.isOver()) {
        command = round.stop();
    } else {
        describeAgent(*plan, runtime);
        const model::Asking asking = round.asking();
        Task<model::Reply> asked = round.ask(asking);
        model::Reply reply = co_await std::move(asked);
        command = round.take(std::move(reply));
    }
    const bool ends = static_cast<const Targets&>(command.go_to).empty();
    if (ends && !lookForMessages(*plan, state, runtime).messages.empty()) command.go_to = begin_node;
    co_return command;
}

}  // namespace stategraph::agent::detail
