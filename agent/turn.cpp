#include <algorithm>
#include <cstdint>
#include <exception>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <stategraph/detail/abandoned.hpp>
#include <stategraph/error.hpp>
#include <stategraph/update.hpp>

#include "agent/calls.hpp"
#include "agent/rounds.hpp"
#include "model/broken_off.hpp"

// Begins a turn, and says of the calls that the turn before it has left open what became of them.
namespace stategraph::agent::detail {
namespace {

using stategraph::detail::AbandonedTask;

/// Returns the question about this call, or none if the task has asked something else, or nothing.
std::optional<Question> questionAbout(const AbandonedTask& task, const std::string& call_id) {
    for (const Value& asked : task.asked) {
        try {
            const auto question = asked.as<Question>();
            const bool is_about = std::visit([&](const auto& each) { return each.call_id == call_id; }, question);
            if (is_about) return question;
        } catch (const WrongTypeError&) {
            // A question of the tool itself.
        }
    }
    return {};
}

/// Returns whether the log says of a call of this tool that its execution has begun.
bool saysWhenBegun(const Plan& plan, const std::string& tool) {
    const Tool* const found = plan.find(tool);
    return found != nullptr && found->is_effect && found->on_doubt != OnDoubt::repeat_unclaimed;
}

/// Returns what became of an open call, as a text for the model.
std::string fateOf(const Plan& plan, const model::ToolCall& call, const AbandonedTask& task) {
    const bool has_begun = task.begun == AbandonedTask::Begun::yes;
    const std::optional<Question> question = questionAbout(task, call.id);
    if (question && std::holds_alternative<ApprovalRequest>(*question) && !has_begun) return not_approved_in_time;
    if (question && std::holds_alternative<ClientRequest>(*question)) return client_gave_nothing;
    if (!task.asked.empty())
        return "The call was not finished: it waited for an answer when the user wrote again. It may have run in part.";
    if (task.begun == AbandonedTask::Begun::no && saysWhenBegun(plan, call.name))
        return "The call was not run: the turn ended before it began.";
    return model::broken_off;
}

/// Returns the calls that have no result, in order.
std::vector<const model::ToolCall*> openCalls(const State& state) {
    std::unordered_set<std::string_view> answered;
    for (const model::Message& each : state.messages) {
        if (each.result) answered.insert(each.result->call_id);
    }
    std::vector<const model::ToolCall*> open;
    for (const model::Message& each : state.messages) {
        for (const model::ToolCall& call : each.calls) {
            if (!answered.contains(call.id)) open.push_back(&call);
        }
    }
    return open;
}

/// Returns the task that was to execute a call, or null if that is not known.
const AbandonedTask* taskOf(const std::vector<AbandonedTask>& tasks, const model::ToolCall& call) {
    const auto found = std::ranges::find_if(tasks, [&](const AbandonedTask& task) {
        const bool is_tools =
            task.node == tool_node || task.node == awaited_tool_node || task.node.starts_with("tool.");
        return is_tools && task.payload && task.payload->as<model::ToolCall>().id == call.id;
    });
    return found == tasks.end() ? nullptr : &*found;
}

/// Resets what is of the turn before, and gives results to the calls that it left open.
Update<State> beginOf(const Plan& plan, const State& state, Runtime& runtime) {
    Update<State> update{set(&State::steps, 0), overwrite(&State::usage, model::UsageByModel()),
                         set(&State::stop_reason, {}), set(&State::output, {}), set(&State::repairs, 0)};
    if (!state.usage.isEmpty()) update.with(add(&State::earlier_usage, state.usage));
    const std::vector<const model::ToolCall*> open = openCalls(state);
    if (open.empty()) return update;
    const std::vector<AbandonedTask> tasks = stategraph::detail::abandonedTasks(runtime);
    std::vector<model::Message> results;
    for (const model::ToolCall* const call : open) {
        const AbandonedTask* const task = taskOf(tasks, *call);
        if (task == nullptr) {
            results.push_back(model::toolResult(*call, Value(model::broken_off), true));
        } else if (const auto done = task->done.find(execution_key); done != task->done.end()) {
            for (model::Message& each : executedCall(plan, state, *call, done->second, task->answers))
                results.push_back(std::move(each));
        } else {
            // An answer that nobody has used yet counts as if its task had taken it.
            Said said = saidOf(plan, state, *call, task->answers, task->begun == AbandonedTask::Begun::yes);
            if (task->begun != AbandonedTask::Begun::no || said.result)
                std::ranges::move(said.amendments, std::back_inserter(results));
            results.push_back(said.result ? *std::move(said.result)
                                          : model::toolResult(*call, Value(fateOf(plan, *call, *task)), true));
        }
    }
    update.with(add(&State::messages, std::move(results)));
    return update;
}

/// What is for a thread comes to the agent that has the thread, and not to those inside.
bool takesMessages(Runtime& runtime) { return runtime.checkpointNs().empty() && !runtime.threadId().empty(); }

/// Leaves out messages that the conversation has already: a message with the same id is the same. What the thread has
/// taken is removed from those that wait as soon as that is stored, so that a run from an earlier checkpoint does not
/// take it again.
Inbox::Waiting whatIsNew(const Plan& plan, Inbox::Waiting&& waiting, const ThreadId& thread, const State& state,
                         Runtime& runtime) {
    std::erase_if(waiting.messages, [&](const Inbox::Letter& each) { return holds(state, each.message.id); });
    try {
        if (waiting.keeps_taken && plan.inbox.isStored(thread, runtime.checkpointId()))
            plan.inbox.forget(thread, state.taken);
    } catch (const std::exception&) {  // they are removed later
    }
    return std::move(waiting);
}

}  // namespace

bool holds(const State& state, const std::string& id) {
    return !id.empty() && std::ranges::find(state.messages, id, &model::Message::id) != state.messages.end();
}

void takeMessages(Inbox::Waiting&& waiting, const State& state, Update<State>& update, Runtime& runtime) {
    if (waiting.taken == state.taken) return;
    update.with(set(&State::taken, waiting.taken));
    for (Inbox::Letter& each : waiting.messages) {
        if (each.message.id.empty()) each.message.id = runtime.idempotencyKey("sent-" + std::to_string(each.number));
        runtime.write(Value(std::map<std::string, Value>{{"event", Value("message-taken")},
                                                         {"id", Value(each.message.id)},
                                                         {"text", Value(each.message.text())},
                                                         {"as", Value(each.steers ? "steer" : "enqueue")}}));
        update.with(add(&State::messages, std::move(each.message)));
    }
}

Inbox::Waiting lookForMessages(const Plan& plan, const State& state, Runtime& runtime) {
    if (!takesMessages(runtime)) return {.taken = state.taken};
    const ThreadId thread(runtime.threadId());
    return whatIsNew(plan, plan.inbox.look(thread, state.taken), thread, state, runtime);
}

Inbox::Waiting steeringMessages(const Plan& plan, const State& state, Runtime& runtime) {
    Inbox::Waiting waiting = lookForMessages(plan, state, runtime);
    while (!waiting.messages.empty() && !waiting.messages.back().steers) waiting.messages.pop_back();
    waiting.taken = waiting.messages.empty() ? state.taken : waiting.messages.back().number;
    return waiting;
}

Update<State> beginTurn(const Plan& plan, const State& state, Runtime& runtime) {
    Update<State> update = beginOf(plan, state, runtime);
    if (!takesMessages(runtime)) return update;
    const ThreadId thread(runtime.threadId());
    takeMessages(whatIsNew(plan, plan.inbox.read(thread, state.taken), thread, state, runtime), state, update, runtime);
    return update;
}

}  // namespace stategraph::agent::detail
